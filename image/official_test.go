package image

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// serve starts an image registry on the loopback and counts its requests.
func serve(t *testing.T) (host string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), requests
}

func push(t *testing.T, ref string) v1.Image {
	t.Helper()
	img, err := random.Image(1000, 3)
	must(t, err)
	config, err := img.ConfigFile()
	must(t, err)
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", platform().Architecture
	img, err = mutate.ConfigFile(img, config)
	must(t, err)
	parsed, err := name.ParseReference(ref)
	must(t, err)
	must(t, remote.Write(parsed, img))
	return img
}

func TestAutoTakesTheOfficialImageWhereARegistryAnswers(t *testing.T) {
	host, _ := serve(t)
	ref := host + "/vendor/gateway:v1"
	pushed := push(t, ref)
	fallback := recipe(executable(t))
	img, err := (&Builder{Dir: t.TempDir()}).Resolve(t.Context(), ref, &fallback)
	must(t, err)
	want, err := pushed.Digest()
	must(t, err)
	if img.Origin != Official || img.Digest != want.String() || img.Ref != ref {
		t.Errorf("image %+v, want the official %s", img, want)
	}
	if got, err := readLayout(t, img.Tar).Digest(); err != nil || got != want {
		t.Errorf("the archive holds %s, %v; want %s", got, err, want)
	}
}

func TestAutoBuildsWhereTheImageIsMissing(t *testing.T) {
	host, _ := serve(t)
	r := recipe(executable(t))
	img, err := (&Builder{Dir: t.TempDir()}).Resolve(t.Context(), host+"/vendor/none:v1", &r)
	must(t, err)
	if img.Origin != Executable {
		t.Errorf("image %+v", img)
	}
}

func TestASilentRegistryIsAskedOnce(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	ref := silent.Addr().String() + "/vendor/gateway:v1"
	must(t, silent.Close()) // from here on the connection is refused
	b := &Builder{Dir: t.TempDir()}
	first, cancelled := b.Lookup(t.Context(), ref)
	if cancelled == nil {
		t.Fatalf("an answer from nowhere: %+v", first)
	}
	again, err := net.Listen("tcp", silent.Addr().String())
	must(t, err)
	defer again.Close()
	if _, err := b.Lookup(t.Context(), ref); err != cancelled {
		t.Errorf("asked again: %v, then %v", cancelled, err)
	}
}

func TestChoices(t *testing.T) {
	host, requests := serve(t)
	ref := host + "/vendor/gateway:v1"
	push(t, ref)
	r := recipe(executable(t))
	before := requests.Load()
	img, err := (&Builder{Dir: t.TempDir(), Choice: PreferSource}).Resolve(t.Context(), ref, &r)
	must(t, err)
	if img.Origin != Executable || requests.Load() != before {
		t.Errorf("source: %+v after %d requests", img, requests.Load()-before)
	}
	if _, err := (&Builder{Dir: t.TempDir(), Choice: PreferOfficial}).Resolve(t.Context(), host+"/none:v1", &r); err == nil {
		t.Error("official: no error for an image that is not there")
	}
	if _, err := (&Builder{Dir: t.TempDir(), Choice: PreferSource}).Resolve(t.Context(), ref, nil); err == nil {
		t.Error("source: no error without a recipe")
	}
	if _, err := ParseChoice("oficial"); err == nil {
		t.Error("no error for a choice that does not exist")
	}
}

func TestFullNames(t *testing.T) {
	short := strings.TrimPrefix(name.DefaultRegistry, "index.")
	for ref, want := range map[string]string{
		"vendor/gateway:v1":           short + "/vendor/gateway:v1",
		"proxy":                       short + "/library/proxy:latest",
		"example.org/vendor/proxy:v2": "example.org/vendor/proxy:v2",
	} {
		parsed, err := name.ParseReference(ref)
		must(t, err)
		if got := fullName(parsed); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}
