package image

import (
	"context"
	"debug/elf"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/gatemark/gatemark/internal/failure"
)

// A library is a shared library, or the loader, that a program needs.
type library struct {
	path string // in the image
	host string // on this machine
}

// librariesOf returns what a dynamically linked executable needs to start:
// its loader and, as that loader itself resolves them on this machine, its
// shared libraries. A static executable needs none.
//
// The libraries go beside libc, wherever they lay here: an image has no
// loader cache, and libc's directory is one that the loader searches
// without. Name lookups work from glibc 2.34 on, where libc holds the
// modules that older ones load by name.
func librariesOf(ctx context.Context, executable string) ([]library, error) {
	loader, needed, err := readELF(executable)
	if err != nil {
		return nil, err
	}
	if loader == "" {
		if len(needed) > 0 {
			return nil, fmt.Errorf("%s: needs %s but names no loader", executable, strings.Join(needed, ", "))
		}
		return nil, nil
	}
	listing, err := command{}.run(ctx, loader, "--list", executable)
	if err != nil {
		return nil, failure.Hint(fmt.Errorf("shared libraries of %s: %w", executable, err),
			"a program from a wheel needs the C library that it was built for: Linux with glibc")
	}
	found, err := parseListing(listing)
	if err != nil {
		return nil, fmt.Errorf("shared libraries of %s: %w", executable, err)
	}
	dir := path.Dir(loader)
	if libc, ok := found["libc.so.6"]; ok {
		dir = path.Dir(libc)
	}
	for _, name := range needed {
		if _, ok := found[name]; !ok && name != path.Base(loader) {
			return nil, fmt.Errorf("%s: needs %s, which is not on this machine", executable, name)
		}
	}
	libraries := []library{{path: loader, host: loader}}
	for name, host := range found {
		libraries = append(libraries, library{path: path.Join(dir, name), host: host})
	}
	return libraries, nil
}

func readELF(executable string) (loader string, needed []string, err error) {
	f, err := elf.Open(executable)
	if err != nil {
		return "", nil, fmt.Errorf("%s: not a Linux executable: %w", executable, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b, err := io.ReadAll(p.Open())
			if err != nil {
				return "", nil, fmt.Errorf("%s: reading its loader's name: %w", executable, err)
			}
			loader = strings.TrimRight(string(b), "\x00")
		}
	}
	if f.SectionByType(elf.SHT_DYNAMIC) == nil {
		return loader, nil, nil
	}
	needed, err = f.ImportedLibraries()
	if err != nil {
		return "", nil, fmt.Errorf("%s: reading what it needs: %w", executable, err)
	}
	return loader, needed, nil
}

// parseListing reads the loader's lines "name => /path (0xaddress)". Lines
// without a path are the loader itself and what the kernel maps.
func parseListing(listing string) (map[string]string, error) {
	found := map[string]string{}
	for line := range strings.Lines(listing) {
		name, target, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			continue
		}
		file, _, _ := strings.Cut(target, " (0x")
		if !path.IsAbs(file) {
			return nil, fmt.Errorf("%s: %s", name, target)
		}
		if path.IsAbs(name) {
			continue // the loader, under its full name
		}
		found[name] = file
	}
	return found, nil
}
