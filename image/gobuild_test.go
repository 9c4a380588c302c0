package image

import (
	"archive/zip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const toolSource = `package main

import (
	"os"

	"example.org/dep"
)

var version = "unset"

func main() { os.Stdout.WriteString(version + " " + dep.Name) }
`

// proxy is a Go module proxy in a folder, with example.org/tool, which needs
// example.org/dep, and a replacement of the latter.
func proxy(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	publish(t, dir, "example.org/tool", "v1.2.3", map[string]string{
		"go.mod":      "module example.org/tool\n\ngo 1.26\n\nrequire example.org/dep v1.0.0\n",
		"main.go":     toolSource,
		"conf/a.json": "{}",
	})
	publish(t, dir, "example.org/dep", "v1.0.0", map[string]string{"go.mod": "module example.org/dep\n", "dep.go": "package dep\n\nconst Name = \"original\"\n"})
	publish(t, dir, "example.org/fork", "v1.0.1", map[string]string{"go.mod": "module example.org/dep\n", "dep.go": "package dep\n\nconst Name = \"replacement\"\n"})
	t.Setenv("GOPROXY", "file://"+dir)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
}

func publish(t *testing.T, proxy, module, version string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(proxy, module, "@v")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "list"), []byte(version+"\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, version+".info"), []byte(`{"Version":"`+version+`"}`), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, version+".mod"), []byte(files["go.mod"]), 0o644))
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	must(t, err)
	z := zip.NewWriter(f)
	for name, text := range files {
		w, err := z.Create(module + "@" + version + "/" + name)
		must(t, err)
		_, err = w.Write([]byte(text))
		must(t, err)
	}
	must(t, z.Close())
	must(t, f.Close())
}

func toolRecipe() Recipe {
	return Recipe{Name: "tool", Version: "v1.2.3", Files: []File{
		{Path: "/usr/local/bin/tool", Go: &GoProgram{Module: "example.org/tool", Version: "v1.2.3", Package: "example.org/tool", LDFlags: "-X main.version=v1.2.3"}},
		{Path: "/etc/tool/a.json", Module: &ModuleFile{Module: "example.org/tool", Version: "v1.2.3", File: "conf/a.json"}},
	}}
}

// says runs the program of an image.
func says(t *testing.T, img Image, path string) string {
	t.Helper()
	files := contents(t, readLayout(t, img.Tar))
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, files[strings.TrimPrefix(path, "/")], 0o755))
	out, err := command{}.run(t.Context(), program)
	must(t, err)
	return out
}

func TestAGoModuleAtAVersionBecomesAnImage(t *testing.T) {
	proxy(t)
	b := &Builder{Dir: t.TempDir()}
	img := build(t, b, toolRecipe())
	if img.Origin != Source || !strings.Contains(img.From, "go module example.org/tool@v1.2.3, go1.") {
		t.Errorf("image %+v", img)
	}
	if got := says(t, img, "/usr/local/bin/tool"); got != "v1.2.3 original" {
		t.Errorf("the program says %q", got)
	}
	if got := contents(t, readLayout(t, img.Tar))["etc/tool/a.json"]; string(got) != "{}" {
		t.Errorf("the module's file is %q", got)
	}

	replaced := toolRecipe()
	replaced.Files[0].Go.Replaces = []string{"example.org/dep => example.org/fork@v1.0.1"}
	other := build(t, b, replaced)
	if got := says(t, other, "/usr/local/bin/tool"); got != "v1.2.3 replacement" {
		t.Errorf("with a replacement the program says %q", got)
	}
	if other.Ref == img.Ref {
		t.Errorf("two programs share the name %s", img.Ref)
	}
}

func TestAStandInTakesTheModulesPlace(t *testing.T) {
	proxy(t)
	b := &Builder{Dir: t.TempDir()}
	for _, name := range []string{"ours", "other"} {
		r := toolRecipe()
		r.Files[0].Go.Replaces = []string{"example.org/dep => ./standin/dep"}
		r.Folder = fstest.MapFS{"standin/dep/dep.go": {Data: []byte("package dep\n\nconst Name = \"" + name + "\"\n")}}
		if got := says(t, build(t, b, r), "/usr/local/bin/tool"); got != "v1.2.3 "+name {
			t.Errorf("with the stand-in %s the program says %q", name, got)
		}
	}
	missing := toolRecipe()
	missing.Files[0].Go.Replaces = []string{"example.org/dep => ./standin/dep"}
	for _, folder := range []fs.FS{nil, fstest.MapFS{}, fstest.MapFS{"standin/dep": {}}} {
		missing.Folder = folder
		if _, err := b.Build(t.Context(), missing); err == nil || !strings.Contains(err.Error(), "stand-in ./standin/dep of module example.org/dep: ") {
			t.Errorf("error %v", err)
		}
	}
	missing.Files[0].Go.Replaces = []string{"example.org/dep => ./../dep"}
	if _, err := b.Build(t.Context(), missing); err == nil || !strings.Contains(err.Error(), `"./../dep" is not a plain path`) {
		t.Errorf("error %v", err)
	}
}

func TestAModuleThatIsNotThereSaysWhatGoSays(t *testing.T) {
	proxy(t)
	r := toolRecipe()
	r.Files[0].Go.Version = "v9.9.9"
	_, err := (&Builder{Dir: t.TempDir()}).Build(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "go get example.org/tool@v9.9.9") || !strings.Contains(err.Error(), "v9.9.9.info") {
		t.Errorf("error %v", err)
	}
	_, err = DownloadModule(t.Context(), "example.org/none", "v1.0.0")
	if err == nil || !strings.Contains(err.Error(), "example.org/none@v1.0.0") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
}

func TestACheckoutIsNamedByWhatItBuilds(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	write := func(name, text string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) }
	write("go.mod", "module example.org/mine\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() { print() }\n")
	r := Recipe{Name: "mine", Version: "checkout", Files: []File{
		{Path: "/mine", Go: &GoProgram{Module: "example.org/mine", Package: "example.org/mine", Checkout: dir, LDFlags: "-s -w"}},
	}}
	b := &Builder{Dir: t.TempDir()}
	first := build(t, b, r)
	if first.Origin != Checkout {
		t.Errorf("image %+v", first)
	}
	if again := build(t, b, r); again.Digest != first.Digest {
		t.Errorf("the same checkout is %s, then %s", first.Ref, again.Ref)
	}
	write("main.go", "package main\n\nfunc main() { println(\"changed\") }\n")
	if changed := build(t, b, r); changed.Ref == first.Ref {
		t.Errorf("a changed checkout is still %s", first.Ref)
	}
	write("main.go", "package main\n\nfunc main() { broken }\n")
	if _, err := b.Build(t.Context(), r); err == nil || !strings.Contains(err.Error(), "main.go:3:") {
		t.Errorf("error %v", err)
	}
}

func TestAWheelComesThroughPip(t *testing.T) {
	bin := t.TempDir()
	wheel := filepath.Join(bin, "tool-1.0-py3-none-any.whl")
	f, err := os.Create(wheel)
	must(t, err)
	z := zip.NewWriter(f)
	w, err := z.Create("tool/_bin/tool")
	must(t, err)
	program, err := os.ReadFile(executable(t))
	must(t, err)
	_, err = w.Write(program)
	must(t, err)
	must(t, z.Close())
	must(t, f.Close())
	// In place of pip: the wheel that was asked for, or an error.
	must(t, os.WriteFile(filepath.Join(bin, "python3"), []byte(`#!/bin/sh
while [ "$1" != --dest ]; do shift; done
if [ "$3" = tool==1.0 ]; then cp `+wheel+` "$2"; else echo "no matching distribution for $3" >&2; exit 1; fi
`), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))

	r := Recipe{Name: "tool", Version: "1.0", Files: []File{{Path: "/tool", Wheel: &Wheel{Package: "tool", Version: "1.0", File: "tool/_bin/tool"}}}}
	img := build(t, &Builder{Dir: t.TempDir()}, r)
	if img.Origin != Source || img.From != "PyPI wheel tool 1.0" {
		t.Errorf("image %+v", img)
	}
	r.Files[0].Wheel.Version = "2.0"
	_, err = (&Builder{Dir: t.TempDir()}).Build(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "no matching distribution for tool==2.0") || !strings.Contains(err.Error(), "python3 -m pip download") {
		t.Errorf("error %v", err)
	}
}
