package image

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A standIn is a module whose sources are in the recipe's folder.
type standIn struct{ module, folder string }

// parseStandIn reads a replace directive; ok is false for one that names a
// module.
func parseStandIn(replace string) (s standIn, ok bool) {
	from, to, _ := strings.Cut(replace, " => ")
	s.module, _, _ = strings.Cut(strings.TrimSpace(from), "@")
	s.folder, ok = strings.CutPrefix(strings.TrimSpace(to), "./")
	return s, ok
}

// in returns the stand-in's sources.
func (s standIn) in(folder fs.FS) (fs.FS, error) {
	if folder == nil {
		return nil, fmt.Errorf("stand-in ./%s of module %s: the recipe has no folder", s.folder, s.module)
	}
	info, err := fs.Stat(folder, s.folder)
	if err == nil && !info.IsDir() {
		err = errors.New("is not a folder")
	}
	if err != nil {
		return nil, fmt.Errorf("stand-in ./%s of module %s: %w", s.folder, s.module, err)
	}
	return fs.Sub(folder, s.folder)
}

// writeStandIns lays p's stand-ins below dir, where its replace directives
// look for them.
func writeStandIns(p GoProgram, folder fs.FS, dir string) error {
	for _, r := range p.Replaces {
		s, ok := parseStandIn(r)
		if !ok {
			continue
		}
		sources, err := s.in(folder)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(s.folder))
		if err := os.CopyFS(to, sources); err != nil {
			return fmt.Errorf("stand-in ./%s of module %s: %w", s.folder, s.module, err)
		}
		file, err := os.OpenFile(filepath.Join(to, "go.mod"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(file, "module %s\n\ngo 1.21\n", s.module); err != nil {
			file.Close()
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}

// sumStandIns is what p's stand-ins add to an image's key: nothing where there
// are none.
func sumStandIns(p GoProgram, folder fs.FS) (string, error) {
	var text strings.Builder
	for _, r := range p.Replaces {
		s, ok := parseStandIn(r)
		if !ok {
			continue
		}
		sources, err := s.in(folder)
		if err != nil {
			return "", err
		}
		err = fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(sources, name)
			sum := sha256.Sum256(data)
			fmt.Fprintf(&text, ", %s sha256:%s", path.Join(s.folder, name), hex.EncodeToString(sum[:]))
			return err
		})
		if err != nil {
			return "", fmt.Errorf("stand-in ./%s of module %s: %w", s.folder, s.module, err)
		}
	}
	return text.String(), nil
}
