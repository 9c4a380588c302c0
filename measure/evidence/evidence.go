// Package evidence takes, at once, what shows why something went wrong: the
// logs of both planes around the instant, the events, the objects as they are,
// and the proxy's own configuration. Taken later it would show another state.
package evidence

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
)

// A Request says what belongs into a bundle.
type Request struct {
	// Name is the bundle's directory among the trial's attachments.
	Name string
	// At is the instant in question; logs begin Before it, 30 s by default.
	At     time.Time
	Before time.Duration
	// Pods selects pods whose containers' logs are taken.
	Pods []Pods
	// Events are namespaces.
	Events  []string
	Objects []Object
	// Newest are kinds of which the objects made last are taken.
	Newest []Newest
	// Dumps are asked for what only they know, by file name: a proxy's
	// configuration.
	Dumps map[string]func(context.Context) ([]byte, error)
	// Limit bounds the bundle in bytes: 4 MiB by default. No file gets more
	// than a quarter of it.
	Limit int
}

// Pods selects pods by namespace and label selector.
type Pods struct{ Namespace, Selector string }

// An Object is one object of any kind.
type Object struct {
	GVK schema.GroupVersionKind
	Key client.ObjectKey
}

// Newest is a kind in a namespace.
type Newest struct {
	GVK       schema.GroupVersionKind
	Namespace string
}

// newest is how many objects of such a kind are taken: of thousands of routes,
// those made last are what the trial was at.
const newest = 50

// Folder is where the files of bundles lie among a trial's attachments.
const Folder = "evidence/"

// A Bundle is evidence at an instant.
type Bundle struct {
	// Files are for result.Directory.WriteTrial.
	Files map[string][]byte
	// Missing says what could not be had, and what was cut.
	Missing []string
}

// Take collects a bundle. What cannot be had is listed in Bundle.Missing and
// in a file of the bundle; the rest is still taken. ctx bounds the time.
func Take(ctx context.Context, c *kube.Client, r Request) Bundle {
	if r.Before == 0 {
		r.Before = 30 * time.Second
	}
	if r.Limit == 0 {
		r.Limit = 4 << 20
	}
	t := &taker{client: c, request: r, bundle: Bundle{Files: map[string][]byte{}}}
	group := errgroup.Group{}
	group.SetLimit(8)
	for name, dump := range r.Dumps { // they change fastest
		group.Go(func() error { t.dump(ctx, name, dump); return nil })
	}
	for _, o := range r.Objects {
		group.Go(func() error { t.object(ctx, o); return nil })
	}
	for _, n := range r.Newest {
		group.Go(func() error { t.newest(ctx, n); return nil })
	}
	for _, p := range r.Pods {
		group.Go(func() error { t.logs(ctx, p); return nil })
	}
	for _, namespace := range r.Events {
		group.Go(func() error { t.events(ctx, namespace); return nil })
	}
	group.Wait() //nolint:errcheck // failures are in the bundle
	return t.finish()
}

// Evidence refers to the bundle's files, for a finding.
func (b Bundle) Evidence() []result.Evidence {
	var all []result.Evidence
	for _, file := range slices.Sorted(maps.Keys(b.Files)) {
		all = append(all, result.Evidence{Name: strings.TrimSuffix(path.Base(file), path.Ext(file)), File: file})
	}
	return all
}

type taker struct {
	client  *kube.Client
	request Request

	mu     sync.Mutex
	bundle Bundle
}

// put adds a file. keepEnd says that its end matters more than its beginning.
func (t *taker) put(name string, data []byte, keepEnd bool) {
	limit := t.request.Limit / 4
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(data) > limit {
		t.bundle.Missing = append(t.bundle.Missing, fmt.Sprintf("%s: cut from %d to %d bytes", name, len(data), limit))
		if keepEnd {
			data = data[len(data)-limit:]
		} else {
			data = data[:limit]
		}
	}
	t.bundle.Files[path.Join(Folder, t.request.Name, name)] = data
}

func (t *taker) miss(what string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bundle.Missing = append(t.bundle.Missing, fmt.Sprintf("%s: %v", what, err))
}

// finish drops files, largest first, until the bundle is within its limit.
func (t *taker) finish() Bundle {
	b := t.bundle
	size := 0
	for _, data := range b.Files {
		size += len(data)
	}
	bySize := slices.SortedFunc(maps.Keys(b.Files), func(x, y string) int { return len(b.Files[y]) - len(b.Files[x]) })
	for _, name := range bySize {
		if size <= t.request.Limit {
			break
		}
		size -= len(b.Files[name])
		b.Missing = append(b.Missing, fmt.Sprintf("%s: dropped, the bundle is over its %d bytes", name, t.request.Limit))
		delete(b.Files, name)
	}
	slices.Sort(b.Missing)
	if len(b.Missing) > 0 {
		b.Files[path.Join(Folder, t.request.Name, "missing.txt")] = []byte(strings.Join(b.Missing, "\n") + "\n")
	}
	return b
}
