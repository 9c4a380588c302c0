package feed

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gatemark/gatemark/truth/config"
)

// sources are the ways to the same feed.
func sources(t *testing.T, f *Feed) map[string]Source {
	t.Helper()
	server := httptest.NewServer(f.Handler())
	t.Cleanup(server.Close)
	return map[string]Source{
		"in process": f.For("a/b"),
		"over HTTP":  Remote{Control: server.URL, Gateway: "a/b", Client: server.Client()},
	}
}

func TestNextWaitsForAnotherVersion(t *testing.T) {
	f := new(Feed)
	for name, source := range sources(t, f) {
		t.Run(name, func(t *testing.T) {
			type answer struct {
				snapshot *config.Snapshot
				err      error
			}
			asked := make(chan answer)
			ask := func(version int64) {
				s, err := source.Next(t.Context(), version)
				asked <- answer{s, err}
			}
			f.Publish(&config.Snapshot{Gateway: "a/b", Version: 1})
			go ask(0)
			if got := <-asked; got.err != nil || got.snapshot.Version != 1 {
				t.Fatalf("got %+v", got)
			}
			go ask(1)
			f.Publish(&config.Snapshot{Gateway: "a/other", Version: 2})
			select {
			case got := <-asked:
				t.Fatalf("there is no news, and yet: %+v", got)
			case <-time.After(20 * time.Millisecond):
			}
			f.Publish(&config.Snapshot{Gateway: "a/b", Version: 3})
			if got := <-asked; got.err != nil || got.snapshot.Version != 3 {
				t.Fatalf("got %+v", got)
			}
			// After a restart of the control plane versions may be anything.
			go ask(99)
			if got := <-asked; got.err != nil || got.snapshot.Version != 3 {
				t.Fatalf("got %+v", got)
			}
		})
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	for name, source := range sources(t, new(Feed)) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if s, err := source.Next(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

func TestForget(t *testing.T) {
	f := new(Feed)
	f.Publish(&config.Snapshot{Gateway: "a/b", Version: 1})
	f.Forget("a/b")
	if s := f.Latest("a/b"); s != nil {
		t.Errorf("it is still there: %+v", s)
	}
}

func TestRemoteTellsWhatIsWrong(t *testing.T) {
	server := httptest.NewServer(new(Feed).Handler())
	defer server.Close()
	if _, err := (Remote{Control: server.URL}).Next(t.Context(), 0); err == nil {
		t.Error("a question without a gateway is answered")
	}
	server.Close()
	if _, err := (Remote{Control: server.URL, Gateway: "a/b"}).Next(t.Context(), 0); err == nil {
		t.Error("nobody is there, and no error")
	}
}
