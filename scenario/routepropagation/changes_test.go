package routepropagation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// changed adds n changes of a kind, each in force after a while and its status
// current 10 ms after its write.
func (p *propagation) changed(kind string, n int, after time.Duration) {
	for i := range n {
		from := &p.routes[i%len(p.routes)]
		o := *from.outcome
		o.Question = probe.Question{Old: probe.Serves(marker.Marker{}), New: probe.Serves(marker.Marker{})}
		if kind == kindDelete {
			o.Question.New = probe.Answers(404)
		}
		o.Lanes = slices.Clone(o.Lanes)
		for j := range o.Lanes {
			seen := probe.Interval{After: from.at.Add(after - ms), By: from.at.Add(after)}
			o.Lanes[j].First, o.Lanes[j].Stable = seen, seen
			o.Lanes[j].Transition = probe.Counts{Sent: 20, Old: 20, Status: map[int]int{200: 20}}
		}
		p.changes = append(p.changes, propagated{kind: kind, name: "changed-" + kind, at: from.at, answered: 3 * ms, status: 10 * ms, outcome: &o,
			silent: slices.Contains([]string{kindDelete, kindEndpointAdded, kindEndpointRemoved}, kind)})
	}
}

// everything is a trial with ten changes of each kind and nothing to find.
func everything(t *testing.T) *propagation {
	p := measured(t, 20, map[string]any{"changes": "all", "shapes": "all"})
	for i := range p.routes {
		p.routes[i].shape = shapes[i%len(shapes)].name
	}
	for _, k := range changeKinds[1:] {
		p.changed(k.name, 10, 20*ms)
	}
	return p
}

func TestChangesWithNothingToFind(t *testing.T) {
	p := everything(t)
	p.report()
	scenariotest.CheckShape(t, Scenario, p.Result)
	scenariotest.CheckFindings(t, p.Result)
	for _, k := range changeKinds[1:] {
		m, ok := p.Result.Metrics["change-"+k.name]
		if !ok || m.N != 10 || math.Abs(*m.P50-0.020) > 1e-9 || m.Better != "lower" || m.Resolution != 0.004 {
			t.Errorf("change-%s: %+v", k.name, m)
		}
		_, status := p.Result.Metrics["change-"+k.name+"-status"]
		if silent := k.name == kindDelete || strings.HasPrefix(k.name, "endpoint"); status == silent {
			t.Errorf("change-%s-status is there: %v", k.name, status)
		}
		if m := p.Result.Metrics["change-"+k.name+"-errors"]; *m.Value != 0 || m.N != 10*4*20 {
			t.Errorf("change-%s-errors: %+v", k.name, m)
		}
	}
	// New routes keep their own numbers.
	if m := p.Result.Metrics["stable"]; m.N != 19 {
		t.Errorf("stable: %+v", m)
	}
	for _, table := range p.Result.Tables {
		want := map[string]int{"changes": len(changeKinds), "shapes": len(shapes)}[table.Name]
		if len(table.Rows) != want {
			t.Errorf("table %s has %d rows, want %d", table.Name, len(table.Rows), want)
		}
	}
}

func TestChangeFindings(t *testing.T) {
	last := func(p *propagation) *propagated { return &p.changes[len(p.changes)-1] }
	for name, c := range map[string]struct {
		change func(p *propagation)
		want   []string
		text   string
	}{
		"a change that never comes": {func(p *propagation) {
			p.changed("header", 1, 20*ms)
			last(p).outcome.Lanes[2].Stable = probe.Interval{}
		}, []string{"change-ignored broken"}, "within 1m0s: 1 of 11 changes of a header filter; the status of 1 of 1 changed routes said that they were accepted"},
		"a route that goes on being served": {func(p *propagation) {
			p.changed(kindDelete, 1, 20*ms)
			last(p).outcome.Lanes[2].Stable = probe.Interval{}
		}, []string{"change-ignored broken"}, "within 1m0s: 1 of 11 deletions of a route"},
		"a route that cannot be changed": {func(p *propagation) { p.unready = []string{"route changed-host, before host: why"} },
			[]string{"change-ignored broken"}, "1 route could not be changed: within 1m0s not every replica served it as it had been written"},
		"errors": {func(p *propagation) {
			p.changed("backend", 1, 20*ms)
			last(p).outcome.Lanes[0].Examples = []probe.Example{{At: 15 * ms, Class: load.Status5xx, Status: 503}}
			c := &last(p).outcome.Lanes[0].Transition
			c.Errors, c.Sent = map[load.Class]int{load.Status5xx: 3, load.Status4xx: 2, load.Reset: 1}, 26
			c.Status = map[int]int{200: 20, 503: 3, 404: 2}
		}, []string{"change-errors broken"}, "6 (3× status 503, 2× status 404, 1× reset) in 886 probes at 1 of 11 changes of a route's backend"},
		"slow deletions": {func(p *propagation) { p.changed(kindDelete, 12, 5*time.Second) },
			[]string{"deleted-served costly"}, "a route that was deleted went on being served for 5s (median of 22)"},
		"slow removals of endpoints": {func(p *propagation) { p.changed(kindEndpointRemoved, 12, 5*time.Second) },
			[]string{"removed-endpoint-used costly"}, "an endpoint that was removed from a backend still got requests for 5s (median of 22)"},
		"slow changes": {func(p *propagation) { p.changed("weight", 12, 2*time.Second); p.changed("host", 12, 3*time.Second) },
			[]string{"change-slow costly"}, "2s for changes of two backends' weights (median of 22), 3s for changes of a host name (median of 22)"},
		"old answers after new ones": {func(p *propagation) {
			p.changed("match", 1, 20*ms)
			lane := &last(p).outcome.Lanes[1]
			lane.Flaps, lane.Stable = 4, probe.Interval{After: lane.First.By, By: lane.First.By.Add(80 * ms)}
		}, []string{"change-flaps notable"}, "at 1 of 91 changes a replica that had answered as changed answered as before again, for at most 80ms"},
		"a shape that is never served": {func(p *propagation) {
			for i := range p.routes {
				if p.routes[i].shape == "header" || p.routes[i].shape == "path+header" {
					p.serve(i, 0)
				}
			}
		}, []string{"never-served broken", "shape-never-served broken"}, ""},
		"a wrong backend answers": {func(p *propagation) {
			p.changed("backend", 1, 20*ms)
			last(p).outcome.Lanes[0].Misrouted = map[string]int{"status 200, route other": 2}
		}, []string{"misrouted broken"}, "2 answers came from another route"},
	} {
		t.Run(name, func(t *testing.T) {
			p := everything(t)
			c.change(p)
			p.report()
			scenariotest.CheckShape(t, Scenario, p.Result)
			scenariotest.CheckFindings(t, p.Result, c.want...)
			if len(p.Result.Findings) > 0 && !strings.Contains(p.Result.Findings[0].Text, c.text) {
				t.Errorf("it says %q, want %q in it", p.Result.Findings[0].Text, c.text)
			}
		})
	}
	p := everything(t)
	for i := range p.routes {
		if strings.Contains(p.routes[i].shape, "header") {
			p.serve(i, 0)
		}
	}
	p.report()
	if f := scenariotest.Finding(t, p.Result, "shape-never-served"); !strings.Contains(f.Text, "matches by header or by host+header or by path+header or by host+path+header was ever served, while routes that match by host or by bare or by path or by host+path were") {
		t.Errorf("it says %q", f.Text)
	}
}

// TestQuestionsOfChanges: every kind's n-th change is asked for by what the next
// form serves, before it the old state is another one, and it can be asked.
func TestQuestionsOfChanges(t *testing.T) {
	p := newPropagation(scenariotest.Trial(t, Scenario, nil))
	both := &pair{pods: map[string]string{"one": "one-x", "two": "two-y"}, slices: []*discoveryv1.EndpointSlice{endpointsAt("10.0.0.1"), endpointsAt("10.0.0.2")}}
	subjects := p.subjects(kindNames(anyRoute), both)
	got := map[string][]string{}
	for _, s := range subjects {
		for n := range 2 * len(s.kinds) {
			next, err := s.step(n)
			if err != nil {
				t.Fatal(err)
			}
			if next.kind != s.kinds[n%len(s.kinds)] {
				t.Errorf("step %d of %v is a %s", n, s.kinds, next.kind)
			}
			q := next.question
			got[next.kind] = append(got[next.kind], fmt.Sprintf("%s %s: %v -> %v", q.Host, q.Path, q.Old, q.New))
		}
	}
	for kind, want := range map[string][]string{
		"header": {"changed-header.gatemark.test /: status 200, route changed-header generation 1 -> status 200, route changed-header generation 2",
			"changed-header.gatemark.test /: status 200, route changed-header generation 2 -> status 200, route changed-header generation 3"},
		"backend": {"changed-backend.gatemark.test /: status 200, route changed-backend generation 1 from pod one-x -> status 200, route changed-backend generation 1 from pod two-y",
			"changed-backend.gatemark.test /: status 200, route changed-backend generation 1 from pod two-y -> status 200, route changed-backend generation 1 from pod one-x"},
		"weight": {"changed-weight.gatemark.test /: status 200, route changed-weight generation 1 from pod one-x -> status 200, route changed-weight generation 1 from pod two-y",
			"changed-weight.gatemark.test /: status 200, route changed-weight generation 1 from pod two-y -> status 200, route changed-weight generation 1 from pod one-x"},
		"match": {"changed-match.gatemark.test /v1: status 404 -> status 200, route changed-match generation 1",
			"changed-match.gatemark.test /v2: status 404 -> status 200, route changed-match generation 1"},
		"host": {"h1.changed-host.gatemark.test /: status 404 -> status 200, route changed-host generation 1",
			"h2.changed-host.gatemark.test /: status 404 -> status 200, route changed-host generation 1"},
		"delete": {"remade.gatemark.test /: status 200, route remade generation 1 -> status 404",
			"remade.gatemark.test /: status 200, route remade generation 2 -> status 404"},
		"recreate": {"remade.gatemark.test /: status 404 -> status 200, route remade generation 2",
			"remade.gatemark.test /: status 404 -> status 200, route remade generation 3"},
		"endpoint-added": {"balanced.gatemark.test /: status 200, route balanced generation 1 from pod one-x -> status 200, route balanced generation 1 from pod two-y",
			"balanced.gatemark.test /: status 200, route balanced generation 1 from pod one-x -> status 200, route balanced generation 1 from pod two-y"},
		"endpoint-removed": {"balanced.gatemark.test /: status 200, route balanced generation 1 from pod two-y -> status 200, route balanced generation 1 from pod one-x",
			"balanced.gatemark.test /: status 200, route balanced generation 1 from pod two-y -> status 200, route balanced generation 1 from pod one-x"},
	} {
		if diff := cmp.Diff(want, got[kind]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if len(got) != len(changeKinds)-1 {
		t.Errorf("%d kinds are made, want all of %d but %s", len(got), len(changeKinds), kindCreate)
	}
	if n := len(p.slice(both, 2).Endpoints); n != 2 || len(p.slice(both, 1).Endpoints) != 1 {
		t.Errorf("%d endpoints of two", n)
	}
}

func endpointsAt(address string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}}}
}

func TestOnlyWantedKindsGetASubject(t *testing.T) {
	p := newPropagation(scenariotest.Trial(t, Scenario, nil))
	both := &pair{}
	var kinds []string
	for _, s := range p.subjects([]string{"create", "recreate", "weight"}, both) {
		kinds = append(kinds, s.kinds...)
	}
	if diff := cmp.Diff([]string{"weight", "delete", "recreate"}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// TestShapes: each route matches by what its shape says, and is asked for so.
func TestShapes(t *testing.T) {
	trial := scenariotest.Trial(t, Scenario, nil)
	for _, c := range []struct {
		shape, want, asked string
	}{
		{"host", "host r.gatemark.test, path /", "r.gatemark.test / []"},
		{"bare", "host r.gatemark.test", "r.gatemark.test  []"},
		{"path", "path /r", "any.gatemark.test /r []"},
		{"header", "header r", "any.gatemark.test  [[Probe-For r]]"},
		{"host+path", "host r.gatemark.test, path /r", "r.gatemark.test /r []"},
		{"host+header", "host r.gatemark.test, header r", "r.gatemark.test  [[Probe-For r]]"},
		{"path+header", "path /r, header r", "any.gatemark.test /r [[Probe-For r]]"},
		{"host+path+header", "host r.gatemark.test, path /r, header r", "r.gatemark.test /r [[Probe-For r]]"},
	} {
		at := slices.IndexFunc(shapes, func(s shape) bool { return s.name == c.shape })
		form := shapes[at].form("r")
		object, err := routeObject(trial, "r", form)
		if err != nil {
			t.Fatalf("%s: %v", c.shape, err)
		}
		route := scenariotest.Typed[gatewayv1.HTTPRoute](t, []*unstructured.Unstructured{object.(*unstructured.Unstructured)}, "HTTPRoute")
		var parts []string
		for _, host := range route.Spec.Hostnames {
			parts = append(parts, "host "+string(host))
		}
		for _, m := range route.Spec.Rules[0].Matches {
			if m.Path != nil {
				parts = append(parts, "path "+*m.Path.Value)
			}
			for _, h := range m.Headers {
				parts = append(parts, "header "+h.Value)
			}
		}
		if got := strings.Join(parts, ", "); got != c.want {
			t.Errorf("%s matches by %s, want %s", c.shape, got, c.want)
		}
		q := form.asks(anyRoute)
		if got := fmt.Sprint(q.Host, " ", q.Path, " ", q.Header); got != c.asked {
			t.Errorf("%s is asked for by %s, want %s", c.shape, got, c.asked)
		}
		if b := route.Spec.Rules[0].BackendRefs; len(b) != 1 || b[0].Name != "echo" || *b[0].Weight != 1 {
			t.Errorf("%s leads to %+v", c.shape, b)
		}
	}
	if len(shapes) != 8 {
		t.Errorf("%d shapes", len(shapes))
	}
}

func TestLists(t *testing.T) {
	all := []string{"a", "b", "c"}
	for text, want := range map[string]string{
		"all": "[a b c] <nil>", "b": "[b] <nil>", "c, a": "[c a] <nil>",
		"": `[] "" is not one of all, a, b, c`, "a,d": `[] "d" is not one of all, a, b, c`, "a,b,a": "[] a is there twice",
	} {
		got, err := scenario.Listed(text, all)
		if s := fmt.Sprint(got, " ", err); s != want {
			t.Errorf("%q reads as %s, want %s", text, s, want)
		}
	}
	if errs := Scenario.Check(map[string]any{"shapes": "square", "changes": "header,create", "settle": time.Second, "limit": time.Minute}); len(errs) != 1 || !strings.Contains(errs[0].Error(), `shapes: "square"`) {
		t.Errorf("problems %v", errs)
	}
}

// TestThePairOfBackends: what setPair makes.
func TestThePairOfBackends(t *testing.T) {
	trial := scenariotest.Trial(t, Scenario, nil)
	objects, err := trial.Render("pair.yaml", pairManifest, map[string]any{
		"Namespace": "gm-1", "EchoImage": "image", "Single": singleBackends, "Shared": sharedBackend,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		selector, _, _ := unstructured.NestedMap(o.Object, "spec", "selector")
		got = append(got, fmt.Sprintf("%s %s %v", o.GetKind(), o.GetName(), len(selector) > 0))
		if !kube.Owned(o) {
			t.Errorf("%s %s is not ours", o.GetKind(), o.GetName())
		}
	}
	want := []string{"Deployment one true", "Service one true", "Deployment two true", "Service two true", "Service both false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestMemoryOfManyChangesIsBounded: what is kept of a change is small, also
// where every answer is an error.
func TestMemoryOfManyChangesIsBounded(t *testing.T) {
	p := newPropagation(scenariotest.Trial(t, Scenario, nil))
	kept := 0
	for range 3000 {
		o := &probe.Outcome{Lanes: make([]probe.Lane, 6)}
		for i := range o.Lanes {
			o.Lanes[i] = probe.Lane{Samples: make([]probe.Sample, 500), Origins: make([]string, 17), Examples: make([]probe.Example, 10)}
		}
		p.slim(kindCreate, o)
		for _, lane := range o.Lanes {
			if lane.Samples != nil || lane.Origins != nil {
				t.Fatal("samples are kept")
			}
			kept += len(lane.Examples)
		}
	}
	if kept > keptExamples {
		t.Errorf("%d examples are kept", kept)
	}
}
