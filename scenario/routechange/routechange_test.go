package routechange

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
	"github.com/gatemark/gatemark/scenario/stream"
)

const ms = time.Millisecond

// simulated is a trial of some kinds, 4 changes each, 3 s apart: in force after
// 100 ms on two replicas, nothing to find. alter may spoil the hits.
func simulated(t *testing.T, names string, alter func(k *kindChanges, hits []stream.Hit) []stream.Hit) *routeChanges {
	t.Helper()
	r := &routeChanges{Trial: scenariotest.Trial(t, Scenario, map[string]any{"kinds": names, "iterations": 2})}
	for _, kind := range mustKinds(r.Values) {
		k := &kindChanges{kind: kind, planned: 4, settle: 300 * ms, began: time.Now(), ready: 500 * ms}
		k.streams = append(slices.Clone(kind.streams), neighbourStream())
		c := &changing{Trial: r.Trial, kind: kind}
		for i := range 4 {
			before, after, err := c.rights(t.Context(), k.streams, i%2 == 0)
			if err != nil {
				t.Fatal(err)
			}
			t0 := time.Duration(1+3*i) * time.Second
			k.changes = append(k.changes, stream.Change{Forward: i%2 == 0, T0: t0, Answered: 5 * ms, Until: t0 + 2*time.Second, Before: before, After: after})
		}
		for _, fresh := range []bool{false, true} {
			for i := range k.streams {
				for _, replica := range []string{"ns/envoy-0", "ns/envoy-1"} {
					k.lanes = append(k.lanes, stream.Lane{Stream: i, Replica: replica, Fresh: fresh})
				}
			}
		}
		hits := k.simulate()
		if alter != nil {
			hits = alter(k, hits)
		}
		k.load = loadTotals{Totals: stream.Totals{Requests: int64(len(hits))}, kept: 32}
		k.take(hits, nil)
		r.kinds = append(r.kinds, k)
	}
	r.report()
	return r
}

// simulate asks every lane every 20 ms; the right answer comes after 2 ms.
func (k *kindChanges) simulate() (hits []stream.Hit) {
	for due := time.Duration(0); due < 13*time.Second; due += 20 * ms {
		for i, l := range k.lanes {
			state := k.streams[l.Stream].Before
			for j := range k.changes {
				if c := &k.changes[j]; due >= c.T0+100*ms {
					state = c.After[l.Stream]
				}
			}
			hits = append(hits, showing(i, due, state))
		}
	}
	return hits
}

// showing is a hit that a state makes right.
func showing(lane int, due time.Duration, state stream.Answer) stream.Hit {
	if state.Status != 0 {
		return scenariotest.Refused(lane, due, 2*ms, map[int]int{5: 500, 404: 404}[state.Status])
	}
	backend := "echo"
	if len(state.Backends) > 0 {
		backend = state.Backends[len(state.Backends)-1]
	}
	return scenariotest.Answered(lane, due, 2*ms, state.Route, state.Generation, backend+"-6f-x")
}

// failHits makes some of the hits fail.
func failHits(hits []stream.Hit, of func(h *stream.Hit) bool, status int, class load.Class) []stream.Hit {
	for i := range hits {
		if h := &hits[i]; of(h) {
			h.Status, h.Class, h.Marker.Route = status, class, ""
		}
	}
	return hits
}

func TestEveryKindIsCleanWhenItIs(t *testing.T) {
	// The rest needs pods or certificates.
	names := "none,backend-port,service,weight,weight-split,header,match,host,rewrite,timeout,retry,cross-namespace,grant,listener,recreate,invalid"
	r := simulated(t, names, nil)
	scenariotest.CheckFindings(t, r.Result)
	scenariotest.CheckShape(t, Scenario, r.Result)
	for _, k := range r.kinds {
		if m := r.Result.Metrics["errors-"+k.kind.name]; *m.Value != 0 || m.N == 0 || len(m.Warnings) != 1 {
			t.Errorf("errors of %s: %+v", k.kind.name, m)
		}
		m, ok := r.Result.Metrics["effect-"+k.kind.name]
		if k.kind.name == controlKind {
			if ok {
				t.Error("nothing changed, and took effect")
			}
			continue
		}
		if m.N != 4 || *m.Max < 0.1 || *m.Max > 0.13 {
			t.Errorf("effect of %s: %+v", k.kind.name, m)
		}
	}
	if rows := r.Result.Tables[0].Rows; len(rows) != len(r.kinds) || !strings.HasPrefix(rows[1][2], "0 of ") || !strings.Contains(rows[1][2], "below 0.") {
		t.Errorf("table %v", rows)
	}
}

func TestRouteChangeFindings(t *testing.T) {
	during := func(k *kindChanges, change int, from, to time.Duration) func(h *stream.Hit) bool {
		return func(h *stream.Hit) bool { t0 := k.changes[change].T0; return h.Due >= t0+from && h.Due < t0+to }
	}
	for name, c := range map[string]struct {
		alter func(k *kindChanges, hits []stream.Hit) []stream.Hit // of kind service
		want  []string
		text  string
	}{
		"503 after a change": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			in := during(k, 1, 40*ms, 100*ms)
			return failHits(hits, func(h *stream.Hit) bool { return in(h) && k.lanes[h.Lane].Stream == 0 && !k.lanes[h.Lane].Fresh }, 503, load.Status5xx)
		}, []string{"errors-service broken"},
			"while a route was sent to another Service (4 times), users got 6 errors (6× status 503) in 3232 requests, at 1 of 4 changes; the longest row of errors lasted 40ms, and in the worst 100 ms 15 % of the requests failed"},
		"the neighbour suffers": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			in := during(k, 0, 0, 20*ms)
			return failHits(hits, func(h *stream.Hit) bool { return in(h) && k.lanes[h.Lane].Stream == 1 }, 0, load.Reset)
		}, []string{"neighbour-service broken"}, "users of a route that nobody changed got 4 errors (4× reset), at 1 of 4 changes"},
		"one replica never takes it": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			for i := range hits {
				if h := &hits[i]; k.lanes[h.Lane].Replica == "ns/envoy-1" && k.lanes[h.Lane].Stream == 0 && h.Due >= k.changes[3].T0 {
					hits[i] = showing(h.Lane, h.Due, k.changes[3].Before[0])
				}
			}
			return hits
		}, []string{"never-in-force-service broken"}, "1 of the changes did not take effect within 30s"},
		"slow": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			for i := range hits {
				for j := range k.changes {
					if in := during(k, j, 0, 1500*ms); in(&hits[i]) && k.lanes[hits[i].Lane].Stream == 0 {
						hits[i] = showing(hits[i].Lane, hits[i].Due, k.changes[j].Before[0])
					}
				}
			}
			return hits
		}, []string{"slow-service costly"}, "users got the old version for long: it took 1.5s until all of them got the new one, and 1.5s when it was changed back (medians)"},
		"slow on the way back alone": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			for i := range hits {
				for _, j := range []int{1, 3} {
					if in := during(k, j, 0, 1500*ms); in(&hits[i]) && k.lanes[hits[i].Lane].Stream == 0 {
						hits[i] = showing(hits[i].Lane, hits[i].Due, k.changes[j].Before[0])
					}
				}
			}
			return hits
		}, []string{"slow-service costly"}, "it took 102ms until all of them got the new one, and 1.5s when it was changed back"},
		"a replica goes back": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			in := during(k, 2, 600*ms, 700*ms)
			for i := range hits {
				if h := &hits[i]; in(h) && h.Lane == 0 {
					hits[i] = showing(h.Lane, h.Due, k.changes[2].Before[0])
				}
			}
			return hits
		}, []string{"stale-service notable"}, "5 old answers came more than 300ms after the first new one"},
		"a stall": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			for j := 1; j < 4; j++ {
				in := during(k, j, 0, 200*ms)
				for i := range hits {
					if h := &hits[i]; in(h) {
						h.Ended = h.Due + 400*ms
					}
				}
			}
			return hits
		}, []string{"stall-service costly"}, "at 3 of 4 changes more than one in a hundred took longer than 102ms, which one in a hundred does not take while nothing is changed (2ms)"},
		"a machine that stalls twice": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			for j := 1; j < 3; j++ {
				in := during(k, j, 0, 800*ms)
				for i := range hits {
					if h := &hits[i]; in(h) {
						h.Ended = h.Due + time.Second
					}
				}
			}
			return hits
		}, nil, ""},
		"requests that last from one change to the next": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			in := during(k, 1, 0, 20*ms)
			for i := range hits {
				if h := &hits[i]; in(h) {
					*h = showing(h.Lane, h.Due, k.changes[2].After[k.lanes[h.Lane].Stream])
					h.Ended = k.changes[2].T0 + 500*ms
				}
			}
			return hits
		}, nil, ""},
		"errors at rest": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			return failHits(hits, func(h *stream.Hit) bool { return h.Lane == 0 && h.Due == 700*ms }, 502, load.Status5xx)
		}, []string{"errors-without-change broken"}, "while nothing was changed, users got 1 error (1× status 502)"},
		"errors all the time are no change's": {func(_ *kindChanges, hits []stream.Hit) []stream.Hit {
			n := 0
			return failHits(hits, func(*stream.Hit) bool { n++; return n%50 == 0 }, 503, load.Status5xx)
		}, []string{"errors-without-change broken"}, "put down to them only where there are clearly more"},
		"failures of our own": {func(k *kindChanges, hits []stream.Hit) []stream.Hit {
			return failHits(hits, during(k, 1, 0, 40*ms), 0, load.AddressExhausted)
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := simulated(t, "service", c.alter)
			scenariotest.CheckFindings(t, r.Result, c.want...)
			if c.want != nil && !strings.Contains(r.Result.Findings[0].Text, c.text) {
				t.Errorf("it says %q", r.Result.Findings[0].Text)
			}
		})
	}
}

func TestFindingsWithoutTraffic(t *testing.T) {
	r := simulated(t, "none,service,retry,header", nil)
	r.Result.Findings, r.Result.Tables, r.Result.Series, r.Result.Figures, r.Result.Gates, r.Result.Notes = nil, nil, nil, nil, nil, nil
	r.kinds[1].load.closed, r.kinds[1].replaced = 4*32, []string{"ns/envoy-1"}
	r.kinds[2] = &kindChanges{kind: r.kinds[2].kind, unsupported: "the definitions lack the field"}
	r.kinds[3] = &kindChanges{kind: r.kinds[3].kind, notServed: "the changed route got 0 right answers"}
	r.report()
	scenariotest.CheckFindings(t, r.Result, "not-served-header broken", "closes-connections-service notable", "replaced-service costly")
	if text := scenariotest.Finding(t, r.Result, "closes-connections-service").Text; !strings.Contains(text, "closed 32 of 32 kept connections at each change") {
		t.Errorf("it says %q", text)
	}
	if rows := r.Result.Tables[0].Rows; rows[2][1] != "not supported" || !strings.HasPrefix(rows[3][1], "not served") {
		t.Errorf("rows %q", rows)
	}
	if len(r.Result.Notes) != 1 || !strings.Contains(r.Result.Notes[0], "retry") {
		t.Errorf("notes %q", r.Result.Notes)
	}
}

func TestRequestsToADeletedPod(t *testing.T) {
	r := simulated(t, "none", nil)
	kind, err := chosenKinds(scenario.RouteOf(nil), "endpoint")
	if err != nil {
		t.Fatal(err)
	}
	k := &kindChanges{kind: kind[0], planned: 1, streams: kind[0].streams, lanes: []stream.Lane{{Replica: "a"}}, load: loadTotals{kept: 1}}
	always := kind[0].streams[0].Before
	before, after := always, always
	before.Pods, after.NotPods = []string{"endpoint-backend-a-1", "endpoint-backend-a-2"}, []string{"endpoint-backend-a-1"}
	k.changes = []stream.Change{{Forward: true, T0: 0, Until: 5 * time.Second, Before: []stream.Answer{before}, After: []stream.Answer{after}}}
	var hits []stream.Hit
	for due := time.Duration(0); due < 4*time.Second; due += 20 * ms {
		pod := "endpoint-backend-a-1"
		if due > 1600*ms {
			pod = "endpoint-backend-a-3"
		}
		hits = append(hits, scenariotest.Answered(0, due, 2*ms, "endpoint", 1, pod))
	}
	k.take(hits, nil)
	r.kinds = append(r.kinds, k)
	r.Result.Findings = nil
	r.findings()
	scenariotest.CheckFindings(t, r.Result, "deleted-pod-endpoint costly")
	if text := r.Result.Findings[0].Text; !strings.Contains(text, "requests still went to the deleted pod up to 1.6s after it was deleted") {
		t.Errorf("it says %q", text)
	}
}

func TestLoadGates(t *testing.T) {
	for name, c := range map[string]struct {
		load stream.Totals
		fail string
	}{
		"fine":                     {load: stream.Totals{Requests: 1000, Late: 250}},
		"late":                     {load: stream.Totals{Requests: 1000, Late: 251}, fail: "late-requests"},
		"unsent":                   {load: stream.Totals{Requests: 1000, Unsent: 2}, fail: "unsent-requests"},
		"unsent as none came back": {load: stream.Totals{Requests: 1000, Unsent: 200, Timeouts: 1}},
		"ours":                     {load: stream.Totals{Requests: 1000, Ours: 1}, fail: "own-failures"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &routeChanges{Trial: scenariotest.Trial(t, Scenario, nil), kinds: []*kindChanges{{kind: kindsOfChange(scenario.RouteOf(nil))[0], load: loadTotals{Totals: c.load}}}}
			r.loadGates()
			for _, g := range r.Result.Gates {
				if g.OK == (g.Name == c.fail) {
					t.Errorf("gate %+v", g)
				}
			}
		})
	}
}

func TestARequestBelongsToTheChangeItSuffers(t *testing.T) {
	k := &kindChanges{changes: []stream.Change{{T0: time.Second, Until: 2 * time.Second}, {T0: 3 * time.Second, Until: 4 * time.Second}}}
	for _, c := range []struct {
		due, ended time.Duration
		want       int
	}{
		{500 * ms, 600 * ms, -1}, {900 * ms, 1100 * ms, 0}, {1500 * ms, 1501 * ms, 0}, {1900 * ms, 3500 * ms, 0},
		{2100 * ms, 2200 * ms, -1}, {2900 * ms, 3001 * ms, 1}, {4500 * ms, 4600 * ms, -1},
	} {
		if got := k.changeOf(&stream.Hit{Due: c.due, Sent: c.due, Ended: c.ended}); got != c.want {
			t.Errorf("due at %s, ended at %s: change %d, want %d", c.due, c.ended, got, c.want)
		}
	}
}

func TestLongestRow(t *testing.T) {
	at := func(all ...time.Duration) []time.Duration { return all }
	for _, c := range []struct {
		instants []time.Duration
		want     time.Duration
	}{
		{nil, 0}, {at(5 * ms), 0}, {at(0, 50*ms, 120*ms), 120 * ms}, {at(300*ms, 0, 90*ms, 350*ms, 410*ms), 110 * ms},
	} {
		if got := stream.LongestRow(c.instants); got != c.want {
			t.Errorf("%v: %s, want %s", c.instants, got, c.want)
		}
	}
}

func TestChosenKinds(t *testing.T) {
	all, err := chosenKinds(scenario.RouteOf(nil), allKinds)
	if err != nil || len(all) < 18 || all[0].name != controlKind {
		t.Fatalf("%d kinds, %v", len(all), err)
	}
	names := namesOfKinds(all)
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("two kinds are called %s", name)
		}
		if all[i].title == "" || all[i].write == nil && i > 0 || len(all[i].streams) == 0 && i > 0 {
			t.Errorf("kind %s is not whole", name)
		}
	}
	some, err := chosenKinds(scenario.RouteOf(nil), "weight, none,weight")
	if err != nil || fmt.Sprint(namesOfKinds(some)) != "[weight none]" {
		t.Errorf("%v, %v", namesOfKinds(some), err)
	}
	if _, err := chosenKinds(scenario.RouteOf(nil), "weigth"); err == nil || !strings.Contains(err.Error(), `no "weigth"`) || !strings.Contains(err.Error(), "weight-split") {
		t.Errorf("got %v", err)
	}
	problems := Scenario.Check(map[string]any{"kinds": "x", "settle": time.Minute, "watch": time.Minute, "limit": time.Second})
	if len(problems) != 3 {
		t.Errorf("problems %v", problems)
	}
}

func TestChangeManifests(t *testing.T) {
	c := &changing{Trial: scenariotest.Trial(t, Scenario, nil), kind: &kindOfChange{name: "x"}}
	c.EchoImage = "image"
	made, err := object(c.Trial, "route", c.route(changedRoute{Name: "r", Listener: "https", Hosts: []string{"a.test", "b.test"}, Rules: []changedRule{
		{Path: "/p", Marker: marks("r", 2), Rewrite: "/q", Timeout: "5s", Backends: []changedBackend{{Name: "x", Namespace: foreignNamespace, Port: 81, Weight: 0}}},
		{Backends: sendTo("echo")},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	route := scenariotest.Typed[gatewayv1.HTTPRoute](t, []*unstructured.Unstructured{made}, "HTTPRoute")
	if !kube.Owned(route) || len(route.Spec.Rules) != 2 || len(route.Spec.Rules[0].Filters) != 2 || route.Spec.Rules[1].Filters != nil {
		t.Errorf("route %+v", route)
	}
	if b := route.Spec.Rules[0].BackendRefs[0]; string(*b.Namespace) != "trial-foreign" || *b.Port != 81 || *b.Weight != 0 {
		t.Errorf("backend %+v", b)
	}
	if b := route.Spec.Rules[1].BackendRefs[0]; b.Namespace != nil || *b.Port != 80 || *b.Weight != 1 {
		t.Errorf("backend %+v", b)
	}
	pair, err := scenario.NewKeyPair("a.test")
	if err != nil {
		t.Fatal(err)
	}
	for template, data := range map[string]any{
		"backend": changedDeployment{Name: "d", Namespace: "ns", EchoImage: "i", Replicas: 2},
		"service": map[string]any{"Name": "s", "App": "d", "Namespace": "ns"},
		"grant":   c.grant(),
		"secret":  map[string]any{"Name": "s", "Namespace": "ns", "Certificate": pair.Certificate, "Key": pair.Key},
		"gateway": map[string]any{"Name": "g", "Namespace": "ns", "Class": "c", "Listeners": []changedListener{
			{Name: "http", Port: 80}, {Name: "https", Host: "a.test", Port: 443, Secret: "s"},
		}},
	} {
		if _, err := object(c.Trial, template, data); err != nil {
			t.Errorf("%s: %v", template, err)
		}
	}
	if _, err := object(c.Trial, "nothing", nil); err == nil {
		t.Error("a template that is not there")
	}
}

func TestEstimateGrowsWithWhatIsAsked(t *testing.T) {
	v := scenariotest.Trial(t, Scenario, map[string]any{"kinds": "none,service", "iterations": 10}).Values
	few := Scenario.Estimate(v)
	v["kinds"] = allKinds
	if all := Scenario.Estimate(v); all < 4*few || math.IsNaN(few.Seconds()) || few < 60*time.Second {
		t.Errorf("two kinds take %s, all %s", few, all)
	}
	if len(Scenario.Writes(v)) == 0 {
		t.Error("no writes")
	}
}

// TestOtherKindsOfRoute: what is asked, and what is right, of routes that are no
// HTTPRoutes.
func TestOtherKindsOfRoute(t *testing.T) {
	for kind, want := range map[string]string{
		scenario.GRPCRoute: "[none backend-port service weight weight-split header match host cross-namespace grant listener certificate endpoint scale recreate invalid]",
		scenario.TLSRoute:  "[none service weight weight-split host cross-namespace grant endpoint scale recreate invalid]",
	} {
		r := scenario.RouteOf(map[string]any{"route": kind})
		if got := fmt.Sprint(namesOfKinds(kindsOfChange(r))); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
	if _, err := chosenKinds(scenario.RouteOf(map[string]any{"route": "TLSRoute"}), "header"); err == nil || !strings.Contains(err.Error(), `no "header" of a TLSRoute`) {
		t.Errorf("got %v", err)
	}
	gone := stream.Stream{Path: "/first", Before: stream.Answer{Route: "r", Generation: 1, Backends: []string{"echo"}}, After: stream.Answer{Status: 404}}
	if s := asked(scenario.RouteOf(map[string]any{"route": "GRPCRoute"}), gone); s.Path != "/first/Call" || s.Secure || s.Before.Route != "r" || s.After.Status != 404 {
		t.Errorf("of a GRPCRoute: %+v", s)
	}
	s := asked(scenario.RouteOf(map[string]any{"route": "TLSRoute"}), gone)
	if s.Path != "/first" || !s.Secure || s.Port != 443 || s.Before.Route != "" || s.Before.Backends[0] != "echo" || !s.After.Closed || s.After.Status != 0 {
		t.Errorf("of a TLSRoute: %+v", s)
	}
	before, closed := scenariotest.Answered(0, 0, ms, "", 0, "echo-6f-x"), stream.Hit{Class: load.TLS}
	for _, c := range []struct {
		h     stream.Hit
		fresh bool
		want  stream.Shown
	}{{before, true, stream.ShowsOld}, {closed, true, stream.ShowsNew}, {before, false, stream.ShowsEither}, {closed, false, stream.ShowsEither}, {stream.Hit{Class: load.Timeout}, true, stream.ShowsWrong}} {
		if got := stream.Tell(&c.h, c.fresh, s.Before, s.After); got != c.want {
			t.Errorf("%v, new connection: %t: got %d, want %d", c.h.What(), c.fresh, got, c.want)
		}
	}
}

func TestManifestsOfOtherRoutes(t *testing.T) {
	made := func(kind string) []*unstructured.Unstructured {
		c := &changing{Trial: scenariotest.Trial(t, Scenario, map[string]any{"route": kind}), kind: &kindOfChange{name: "x"}}
		object, err := object(c.Trial, "route", c.route(changedRoute{Name: "r", Hosts: []string{"a.test"}, Rules: []changedRule{
			{Path: "/first", Marker: marks("r", 2), Backends: []changedBackend{{Name: "x", Port: otherPort, Weight: 1}}},
			{Path: "/", Backends: sendTo("echo")},
		}}))
		if err != nil {
			t.Fatal(err)
		}
		return []*unstructured.Unstructured{object}
	}
	called := scenariotest.Typed[gatewayv1.GRPCRoute](t, made(scenario.GRPCRoute), scenario.GRPCRoute).Spec.Rules
	if *called[0].Matches[0].Method.Service != "first" || *called[0].BackendRefs[0].Port != 1081 || len(called[0].Filters) != 1 || len(called[1].Matches) != 0 || *called[1].BackendRefs[0].Port != 81 {
		t.Errorf("%+v", called)
	}
	passed := scenariotest.Typed[gatewayv1.TLSRoute](t, made(scenario.TLSRoute), scenario.TLSRoute).Spec.Rules
	if *passed[0].BackendRefs[0].Port != 1443 || *passed[1].BackendRefs[0].Port != 443 {
		t.Errorf("%+v", passed)
	}
}
