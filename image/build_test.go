package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// executable is a small static program of the test's own.
func executable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	return out
}

func recipe(executable string) Recipe {
	return Recipe{
		Name: "program", Version: "v1",
		Files:          []File{{Path: "/usr/local/bin/program", Executable: executable}},
		Env:            []string{"MODE=test"},
		CACertificates: true,
	}
}

func build(t *testing.T, b *Builder, r Recipe) Image {
	t.Helper()
	img, err := b.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestAnExecutableBecomesAnImage(t *testing.T) {
	exe := executable(t)
	img := build(t, &Builder{Dir: t.TempDir()}, recipe(exe))

	if !strings.HasPrefix(img.Ref, "gatemark.local/program:v1-") || img.Origin != Executable {
		t.Errorf("image %+v", img)
	}
	read := readLayout(t, img.Tar)
	if err := validate.Image(read, validate.Fast); err != nil {
		t.Errorf("not a valid image: %v", err)
	}
	digest, err := read.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if digest.String() != img.Digest {
		t.Errorf("the archive holds %s, the record says %s", digest, img.Digest)
	}
	config, err := read.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		Entrypoint: []string{"/usr/local/bin/program"},
		User:       "65532:65532",
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "MODE=test"},
		WorkingDir: "/",
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	files := contents(t, read)
	original, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(files["usr/local/bin/program"], original) {
		t.Error("the program in the image is not the program that was packed")
	}
	for _, name := range []string{"etc/passwd", "etc/group", "tmp/"} {
		if _, ok := files[name]; !ok {
			t.Errorf("no %s in the image", name)
		}
	}
}

func TestDockerReadsTheArchiveToo(t *testing.T) {
	img := build(t, &Builder{Dir: t.TempDir()}, recipe(executable(t)))
	read, err := tarball.ImageFromPath(img.Tar, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := read.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if config.String() != img.ConfigDigest {
		t.Errorf("config %s, the record says %s", config, img.ConfigDigest)
	}
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(img.Tar) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{img.Ref}, manifest[0].RepoTags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestEqualInputsHaveEqualBytes(t *testing.T) {
	exe := executable(t)
	first := build(t, &Builder{Dir: t.TempDir()}, recipe(exe))
	moved := filepath.Join(t.TempDir(), "elsewhere")
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(moved, data, 0o755); err != nil {
		t.Fatal(err)
	}
	second := build(t, &Builder{Dir: t.TempDir()}, recipe(moved))
	if first.Digest != second.Digest || first.Ref != second.Ref {
		t.Errorf("%s %s, then %s %s", first.Ref, first.Digest, second.Ref, second.Digest)
	}
	if a, b := sum(t, first.Tar), sum(t, second.Tar); a != b {
		t.Errorf("archives differ: %s, %s", a, b)
	}
	changed := recipe(exe)
	changed.Env = nil
	if third := build(t, &Builder{Dir: t.TempDir()}, changed); third.Ref == first.Ref {
		t.Errorf("another environment has the same name %s", third.Ref)
	}
}

func TestOneKeyIsBuiltOnce(t *testing.T) {
	c := cache{t.TempDir()}
	var made int
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, err := c.once(t.Context(), "key", func(work string) (record, error) {
				made++ // the lock is what makes this safe; -race would tell
				time.Sleep(50 * time.Millisecond)
				return record{}, os.WriteFile(filepath.Join(work, "image.tar"), []byte("image"), 0o644)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if made != 1 {
		t.Errorf("made %d times", made)
	}
}

func TestAWaiterStopsWithItsContext(t *testing.T) {
	c := cache{t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.once(ctx, "key", func(string) (record, error) {
		cancel()
		_, err := c.once(ctx, "key", func(string) (record, error) {
			t.Error("two makers at once")
			return record{}, nil
		})
		return record{}, err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context canceled", err)
	}
}

func TestADamagedCacheIsMendedNotTrusted(t *testing.T) {
	exe := executable(t)
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, img Image)
	}{
		{"truncated", func(t *testing.T, img Image) { must(t, os.Truncate(img.Tar, 1000)) }},
		{"a byte flipped", func(t *testing.T, img Image) {
			f, err := os.OpenFile(img.Tar, os.O_RDWR, 0)
			must(t, err)
			_, err = f.WriteAt([]byte{0xff}, 5000)
			must(t, errors.Join(err, f.Close()))
			later := time.Now().Add(time.Hour)
			must(t, os.Chtimes(img.Tar, later, later))
		}},
		{"gone", func(t *testing.T, img Image) { must(t, os.Remove(img.Tar)) }},
		{"no record", func(t *testing.T, img Image) { must(t, os.Remove(strings.TrimSuffix(img.Tar, ".tar")+".json")) }},
		{"half a record", func(t *testing.T, img Image) { must(t, os.Truncate(strings.TrimSuffix(img.Tar, ".tar")+".json", 20)) }},
		{"work of a crash left", func(t *testing.T, img Image) {
			work := strings.TrimSuffix(img.Tar, ".tar") + ".work"
			must(t, os.MkdirAll(work, 0o755))
			must(t, os.WriteFile(filepath.Join(work, "image.tar"), []byte("half"), 0o644))
			must(t, os.Remove(img.Tar))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &Builder{Dir: t.TempDir()}
			first := build(t, b, recipe(exe))
			before := sum(t, first.Tar)
			c.damage(t, first)
			if again := build(t, b, recipe(exe)); again.Digest != first.Digest || sum(t, again.Tar) != before {
				t.Errorf("after the damage: %+v, %s; want %+v, %s", again, sum(t, again.Tar), first, before)
			}
			if left, err := filepath.Glob(filepath.Join(b.Dir, "*.work")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

func TestAFailedBuildLeavesNothing(t *testing.T) {
	b := &Builder{Dir: t.TempDir()}
	r := Recipe{Name: "x", Version: "v1", Files: []File{{Path: "/x", Executable: "/etc/hostname"}}}
	if _, err := b.Build(t.Context(), r); err == nil || !strings.Contains(err.Error(), "not a Linux executable") {
		t.Errorf("error %v", err)
	}
	left, err := filepath.Glob(filepath.Join(b.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if !strings.HasSuffix(f, ".lock") {
			t.Errorf("left behind: %s", f)
		}
	}
}

func TestRecipesAreCheckedAsAWhole(t *testing.T) {
	r := Recipe{
		Name: "Program", Version: "v1:2", User: "nobody", Env: []string{"X"},
		Files: []File{
			{Path: "bin/x", Executable: "x", Wheel: &Wheel{}},
			{Path: "/a", Go: &GoProgram{Package: "example.org/b", Replaces: []string{"a=b"}}},
			{Path: "/a", Module: &ModuleFile{}},
			{Path: "/c"},
		},
	}
	_, err := (&Builder{Dir: t.TempDir()}).Build(t.Context(), r)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"name:", "version:", "user:", "env[0]:", "files[0].path:", "files[0].wheel:", "files[0]: has 2 sources",
		"files[1].go.module: missing", "files[1].go.version: missing", "files[1].go.replaces[0]", "files[2].module",
		"files[2].path: /a is there twice", "files[3]: has 0 sources",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in:\n%v", want, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sum(t *testing.T, file string) string {
	t.Helper()
	s, err := sha256File(file)
	must(t, err)
	return s
}

// readLayout unpacks an archive and reads it as an OCI image layout.
func readLayout(t *testing.T, archive string) v1.Image {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(archive)
	must(t, err)
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		to := filepath.Join(dir, h.Name)
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(t, os.WriteFile(to, data, 0o644))
	}
	path, err := layout.FromPath(dir)
	must(t, err)
	index, err := path.ImageIndex()
	must(t, err)
	manifest, err := index.IndexManifest()
	must(t, err)
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%d images in the archive", len(manifest.Manifests))
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	must(t, err)
	return img
}

// contents are the files of an image's layers; directories end in /.
func contents(t *testing.T, img v1.Image) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	layers, err := img.Layers()
	must(t, err)
	for _, l := range layers {
		want, err := l.Digest()
		must(t, err)
		r, err := l.Uncompressed()
		must(t, err)
		if got, _, err := v1.SHA256(r); err != nil || got != want {
			t.Errorf("a layer is %s (%v), its manifest says %s", got, err, want)
		}
		must(t, r.Close())
		r, err = l.Uncompressed()
		must(t, err)
		for tr := tar.NewReader(r); ; {
			h, err := tr.Next()
			if err == io.EOF {
				break
			}
			must(t, err)
			data, err := io.ReadAll(tr)
			must(t, err)
			if !h.ModTime.Equal(epoch) {
				t.Errorf("%s has the time %s", h.Name, h.ModTime)
			}
			files[h.Name] = data
		}
		must(t, r.Close())
	}
	return files
}
