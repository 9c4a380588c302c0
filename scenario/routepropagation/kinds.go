package routepropagation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/scenario"
)

// The kinds of change, as they are called in plans and results.
const (
	kindCreate          = "create"
	kindDelete          = "delete"
	kindRecreate        = "recreate"
	kindEndpointAdded   = "endpoint-added"
	kindEndpointRemoved = "endpoint-removed"
)

// The Services of pair.yaml.
const (
	firstBackend, secondBackend = "one", "two"
	sharedBackend               = "both"
)

var singleBackends = []string{firstBackend, secondBackend}

// A step is one change: what is asked from before the write on, and the write.
type step struct {
	kind     string
	name     string // of the route that answers
	question probe.Question
	// write returns the version whose status is waited for; nil where the
	// change is none of a route's, or ends it.
	write func(ctx context.Context) (*scenario.RouteVersion, error)
}

// A changeKind is a kind of change.
type changeKind struct {
	name string
	// plural is what several are called in a sentence.
	plural string
	// form, for one that writes another form of a route, makes the n-th, from 0
	// on, of what was the first. All else follows: what is asked is what the next
	// form serves, and before the write that is a 404, or, where the form before
	// serves it too, the answer of that one.
	form func(f *routeForm, n int)
	// routes are the kinds of route that have it.
	routes []string
}

var changeKinds = []changeKind{
	{kindCreate, "creations of a route", nil, everyRoute},
	{"header", "changes of a header filter", func(f *routeForm, n int) { f.Generation = int64(n + 1) }, ofRequests},
	{"backend", "changes of a route's backend", func(f *routeForm, n int) { f.Backends = []weighted{{singleBackends[n%2], 1}} }, everyRoute},
	{"weight", "changes of two backends' weights", func(f *routeForm, n int) {
		f.Backends = []weighted{{firstBackend, (n + 1) % 2}, {secondBackend, n % 2}}
	}, everyRoute},
	{"match", "changes of a path match", func(f *routeForm, n int) { f.Path = fmt.Sprintf("/v%d", n) }, ofRequests},
	{"host", "changes of a host name", func(f *routeForm, n int) { f.Host = fmt.Sprintf("h%d.%s", n, f.Host) }, everyRoute},
	{kindDelete, "deletions of a route", nil, everyRoute},
	{kindRecreate, "creations of a route under a deleted one's name", nil, everyRoute},
	{kindEndpointAdded, "additions of an endpoint", nil, everyRoute},
	{kindEndpointRemoved, "removals of an endpoint", nil, everyRoute},
}

func kindNames(r *scenario.Route) []string {
	var names []string
	for _, k := range changeKinds {
		if slices.Contains(k.routes, r.Kind) {
			names = append(names, k.name)
		}
	}
	return names
}

// A subject is a route that is changed again and again, by kinds that take
// turns.
type subject struct {
	kinds []string
	// begin makes it.
	begin func() (step, error)
	// step is the n-th change, of kinds[n%len(kinds)].
	step func(n int) (step, error)
	// lost is set when a change did not come into force: what is there now is
	// unknown.
	lost bool
}

// subjects are what the wanted kinds change.
func (p *propagation) subjects(wanted []string, both *pair) []*subject {
	var all []*subject
	add := func(s *subject) {
		if slices.ContainsFunc(s.kinds, func(kind string) bool { return slices.Contains(wanted, kind) }) {
			all = append(all, s)
		}
	}
	for _, k := range changeKinds {
		if k.form != nil {
			add(p.rewritten(k, both.pods))
		}
	}
	add(p.remade())
	add(p.balanced(both))
	return all
}

// rewritten is the subject of a kind that writes another form.
func (p *propagation) rewritten(k changeKind, pods map[string]string) *subject {
	name := "changed-" + k.name
	form := func(n int) routeForm {
		f := shapes[0].form(name)
		k.form(&f, n)
		return f
	}
	return &subject{
		kinds: []string{k.name},
		begin: func() (step, error) { return p.creationOf(name, form(0), pods) },
		step: func(n int) (step, error) {
			before, after := form(n), form(n+1)
			object, err := routeObject(p.Trial, name, after)
			return step{
				kind: k.name, name: name, question: between(p.route(), name, before, after, pods),
				write: func(ctx context.Context) (*scenario.RouteVersion, error) { return p.rewrite(ctx, object) },
			}, err
		},
	}
}

// between asks what a form serves that another one is rewritten to.
func between(r *scenario.Route, name string, before, after routeForm, pods map[string]string) probe.Question {
	q := after.asks(r)
	q.Old, q.New = unserved(r), probe.Serves(after.marker(r, name, pods))
	if before.Host == after.Host && before.Path == after.Path && before.Header == after.Header {
		q.Old = probe.Serves(before.marker(r, name, pods))
	}
	return q
}

// creationOf is the step that creates a route in a form.
func (p *propagation) creationOf(name string, f routeForm, pods map[string]string) (step, error) {
	object, err := routeObject(p.Trial, name, f)
	r := p.route()
	q := f.asks(r)
	q.Old, q.New = unserved(r), probe.Serves(f.marker(r, name, pods))
	return step{kindCreate, name, q, func(ctx context.Context) (*scenario.RouteVersion, error) {
		if err := kube.Create(ctx, p.Kube, object); err != nil {
			return nil, err
		}
		version := scenario.VersionOf(object)
		return &version, nil
	}}, err
}

// rewrite puts an object's spec in place of what it is. A merge patch replaces
// lists as a whole, and a status that is written meanwhile is not in its way.
func (p *propagation) rewrite(ctx context.Context, object client.Object) (*scenario.RouteVersion, error) {
	desired := object.(*unstructured.Unstructured)
	patch, err := json.Marshal(map[string]any{"spec": desired.Object["spec"]})
	if err != nil {
		return nil, err
	}
	if err := p.Kube.Patch(ctx, desired, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return nil, fmt.Errorf("change %s: %w", kube.Describe(desired), err)
	}
	version := scenario.VersionOf(desired)
	return &version, nil
}

// remade is the subject of deletions, and of creations under a name that was
// there before: its marker tells each making.
func (p *propagation) remade() *subject {
	const name = "remade"
	form := func(n int) routeForm {
		f := shapes[0].form(name)
		f.Generation = int64((n+1)/2 + 1)
		return f
	}
	return &subject{
		kinds: []string{kindDelete, kindRecreate},
		begin: func() (step, error) { return p.creationOf(name, form(0), nil) },
		step: func(n int) (step, error) {
			if n%2 == 1 {
				again, err := p.creationOf(name, form(n), nil)
				again.kind = kindRecreate
				return again, err
			}
			object, err := routeObject(p.Trial, name, form(n))
			r := p.route()
			q := form(n).asks(r)
			q.Old, q.New = probe.Serves(form(n).marker(r, name, nil)), unserved(r)
			return step{kindDelete, name, q, func(ctx context.Context) (*scenario.RouteVersion, error) {
				return nil, p.Kube.Delete(ctx, object)
			}}, err
		},
	}
}
