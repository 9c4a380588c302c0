package routechange

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// A kindOfChange is one thing that changes while traffic goes on: the write, and
// the answers that are right before and after it. Between the two either is
// right, and nothing else is.
type kindOfChange struct {
	// name is the kind's in parameters, metrics and findings.
	name string
	// title ends a sentence that begins with "while".
	title string
	// feature is what an implementation must support, beyond the core.
	feature string
	// experimental kinds need definitions of the experimental channel.
	experimental bool
	// streams are what users ask for. The neighbour is asked for always.
	streams []stream.Stream
	// begin makes what the kind needs, in the state before.
	begin func(ctx context.Context, c *changing) error
	// write makes the change, or takes it back, with one write. It is nil for
	// the control, in which nothing changes.
	write func(ctx context.Context, c *changing, forward bool) error
	// expect, if it is not nil, says what is right for the first stream before
	// and after the next change, where that differs from change to change.
	expect func(ctx context.Context, c *changing, forward bool) (before, after stream.Answer, err error)
	// lasts is how long the change is watched at least, where it takes longer
	// than others to do its harm. It is set where pods start and end: their own
	// time is then no fault of the data plane.
	lasts time.Duration
	// end takes back what is not undone by deleting what was made.
	end func(ctx context.Context, c *changing) error
}

// changing is a kind of change at work in a trial.
type changing struct {
	*scenario.Trial
	kind  *kindOfChange
	stage *scenario.Stage
	made  []*unstructured.Unstructured
	// pairs are the certificates before and after; victim is the pod that the
	// next change deletes.
	pairs  [2]scenario.KeyPair
	victim string
}

// controlKind is the kind in which nothing changes.
const controlKind = "none"

// kindsOfChange lists all kinds that routes of a kind have, in the order in
// which they take place.
func kindsOfChange(r *scenario.Route) []*kindOfChange {
	all := slices.Concat(
		[]*kindOfChange{{name: controlKind, title: "nothing changed"}},
		backendKinds(), ruleKinds(), grantKinds(), listenerKinds(), endpointKinds(), lifeKinds(),
	)
	return slices.DeleteFunc(all, func(k *kindOfChange) bool { return slices.Contains(lacking[r.Kind], k.name) })
}

// lacking lists the kinds of change that routes of a kind do not have, or that
// no answer shows: what is passed through carries no mark of its route.
var lacking = map[string][]string{
	scenario.GRPCRoute: {"rewrite", "timeout", "retry"},
	scenario.TLSRoute:  {"backend-port", "header", "match", "rewrite", "timeout", "retry", "listener", "certificate"},
}

// chosenKinds are those that a parameter names: "all", or names with commas
// between them.
func chosenKinds(r *scenario.Route, names string) ([]*kindOfChange, error) {
	all := kindsOfChange(r)
	if names == allKinds {
		return all, nil
	}
	var chosen []*kindOfChange
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		at := slices.IndexFunc(all, func(k *kindOfChange) bool { return k.name == name })
		if at < 0 {
			return nil, fmt.Errorf("kinds: there is no %q of a %s; there are %s", name, r.Kind, strings.Join(namesOfKinds(all), ", "))
		}
		if !slices.Contains(chosen, all[at]) {
			chosen = append(chosen, all[at])
		}
	}
	return chosen, nil
}

const allKinds = "all"

func namesOfKinds(all []*kindOfChange) []string {
	var names []string
	for _, k := range all {
		names = append(names, k.name)
	}
	return names
}

// routeKind is a kind in which one route goes from a state to another. Its
// needs make what it refers to; they may be nil.
func routeKind(kind kindOfChange, before, after changedRoute, needs func(ctx context.Context, c *changing) error) *kindOfChange {
	kind.begin = func(ctx context.Context, c *changing) error {
		if needs != nil {
			if err := needs(ctx, c); err != nil {
				return err
			}
		}
		return c.put(ctx, "route", c.route(before))
	}
	kind.write = func(ctx context.Context, c *changing, forward bool) error {
		if forward {
			return c.put(ctx, "route", c.route(after))
		}
		return c.put(ctx, "route", c.route(before))
	}
	return &kind
}

// changeHost is the host name of a kind's traffic.
func changeHost(kind string) string { return kind + ".gatemark.test" }

// The neighbour is a route that never changes: whatever is done to others,
// its users must not notice.
func (c *changing) putNeighbour(ctx context.Context) error {
	return c.put(ctx, "route", c.route(changedRoute{
		Name: neighbourName, Hosts: []string{changeHost(neighbourName)},
		Rules: []changedRule{{Marker: marks(neighbourName, 1), Backends: sendTo("echo")}},
	}))
}

const neighbourName = "neighbour"

func neighbourStream() stream.Stream {
	always := stream.Answer{Route: neighbourName, Generation: 1}
	return stream.Stream{Name: "a route that nobody changed", Host: changeHost(neighbourName), Path: "/", Before: always, After: always}
}

// asked is a stream as it is asked for where routes are of a kind.
func asked(r *scenario.Route, s stream.Stream) stream.Stream {
	s.Path = r.Path(s.Path)
	if r.TLS {
		s.Secure, s.Port = true, scenario.SecurePort
	}
	s.Before, s.After = right(r, s.Before), right(r, s.After)
	return s
}

// right is what is right of a route of a kind where an answer is of an
// HTTPRoute. A connection that is passed through goes on with its backend, and
// is closed where there is none.
func right(r *scenario.Route, a stream.Answer) stream.Answer {
	if !r.TLS {
		return a
	}
	if a.Status == 404 || a.Status == 5 {
		a.Status, a.Closed = 0, true
	}
	a.Route, a.Generation, a.Unmarked, a.Lasting = "", 0, false, true
	return a
}
