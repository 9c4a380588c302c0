package attachedroutes

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const ms = time.Millisecond

// attached is a trial of 4 routes on two listeners: created in the first four
// seconds, deleted from the 20th on. versions says what the status showed when.
func attached(versions map[time.Duration][]int) *attachment {
	a := &attachment{
		Trial:     &scenario.Trial{Values: scenario.Values{"routes": 4, "limit": "10s"}, Result: &result.Trial{Scenario: "attached-routes"}},
		listeners: []scenario.Listener{{Name: "l0"}, {Name: "l1"}},
		counts:    &attachedCounts{listeners: make([]scenario.Listener, 2)},
		status:    &scenario.RouteStatus{Current: map[string]time.Time{}},
		swept:     scenario.Sweep{Asked: 8, Right: 8},
	}
	a.Begin()
	at := func(d time.Duration) time.Time { return a.Zero().Add(d) }
	for i := range 4 {
		step := time.Duration(i) * time.Second
		a.up.sent, a.up.answered = append(a.up.sent, at(step)), append(a.up.answered, at(step+100*time.Millisecond))
		a.down.sent, a.down.answered = append(a.down.sent, at(20*time.Second+step)), append(a.down.answered, at(20*time.Second+step+100*time.Millisecond))
		a.status.Current[attachedName(i)] = at(step + 500*time.Millisecond)
	}
	var instants []time.Duration
	for d := range versions {
		instants = append(instants, d)
	}
	slices.Sort(instants)
	for _, d := range instants {
		a.counts.versions = append(a.counts.versions, countVersion{at(d), versions[d]})
	}
	a.up.want = 4
	upTo := func(end time.Duration, want int) []time.Time {
		c := &attachedCounts{listeners: a.listeners}
		for _, v := range a.counts.versions {
			if v.at.Before(at(end)) {
				c.versions = append(c.versions, v)
			}
		}
		since, _, _ := c.since(want)
		return since
	}
	a.up.reached, a.down.reached = upTo(20*time.Second, 4), upTo(time.Hour, 0)
	a.report()
	return a
}

func TestAttachedRoutes(t *testing.T) {
	for _, c := range []struct {
		name     string
		versions map[time.Duration][]int
		want     []string
		text     string
	}{
		{"a true count", map[time.Duration][]int{
			0: {0, 0}, 2 * time.Second: {2, 2}, 5 * time.Second: {4, 4}, 22 * time.Second: {3, 3}, 25 * time.Second: {0, 0}}, nil, ""},
		{"more than there are", map[time.Duration][]int{
			0: {0, 0}, time.Second / 2: {3, 1}, 5 * time.Second: {4, 4}, 25 * time.Second: {0, 0}},
			[]string{"overcount"}, "1 times attachedRoutes counted more routes than there were"},
		{"back and forth", map[time.Duration][]int{
			0: {0, 0}, 3500 * time.Millisecond: {4, 4}, 4 * time.Second: {2, 4}, 5 * time.Second: {4, 4}, 25 * time.Second: {0, 0}},
			[]string{"count-went-back"}, "1 times attachedRoutes went down"},
		{"one listener short", map[time.Duration][]int{
			0: {0, 0}, 5 * time.Second: {4, 3}, 25 * time.Second: {0, 0}},
			[]string{"wrong-count-after-setup"}, "1 of 2 listeners did not count them right"},
		{"stuck at the end", map[time.Duration][]int{
			0: {0, 0}, 5 * time.Second: {4, 4}, 25 * time.Second: {0, 1}},
			[]string{"wrong-count-after-teardown"}, "1 of 2 listeners still counted some"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := attached(c.versions)
			var got []string
			for _, f := range a.Result.Findings {
				got = append(got, strings.TrimPrefix(f.ID, "attached-routes/"))
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("found %q, want %q", got, c.want)
			}
			if len(got) > 0 && !strings.Contains(a.Result.Findings[0].Text, c.text) {
				t.Errorf("it says %q, want %q in it", a.Result.Findings[0].Text, c.text)
			}
			scenariotest.CheckFigures(t, a.Result)
		})
	}
}

func TestAttachedTimes(t *testing.T) {
	a := attached(map[time.Duration][]int{0: {0, 0}, 5 * time.Second: {4, 4}, 24 * time.Second: {0, 0}})
	for name, want := range map[string]float64{
		"setup": 5, "setup-residual": 1.9, "setup-writes": 3.1, "teardown": 4, "teardown-residual": 0.9, "accepted": 3.5,
	} {
		m := a.Result.Metrics[name]
		if m.Value == nil || *m.Value < want-1e-6 || *m.Value > want+1e-6 {
			t.Errorf("%s = %v, want %v", name, m.Value, want)
		}
	}
	never := attached(map[time.Duration][]int{0: {0, 0}, 5 * time.Second: {4, 3}, 24 * time.Second: {0, 0}})
	if m := never.Result.Metrics["setup"]; m.Value != nil || m.Censored != 1 || m.Limit != 10 {
		t.Errorf("a count that never came: %+v", m)
	}
}

// TestSettle: a count counts from when it is right for good.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &attachedCounts{listeners: make([]scenario.Listener, 1), changed: make(chan struct{})}
		began := time.Now()
		show := func(after time.Duration, count int) {
			time.AfterFunc(after, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.versions = append(c.versions, countVersion{time.Now(), []int{count}})
				close(c.changed)
				c.changed = make(chan struct{})
			})
		}
		show(1*time.Second, 5)
		show(2*time.Second, 6)
		show(3*time.Second, 5)
		silent := func(string, ...any) {}
		since := c.settle(t.Context(), 5, time.Minute, 3*time.Second, silent)
		if got := since[0].Sub(began); got != 3*time.Second {
			t.Errorf("right since %s, want 3s", got)
		}
		if took := time.Since(began); took < 6*time.Second || took > 7*time.Second {
			t.Errorf("settled after %s, want the hold of 3s after that", took)
		}
		if since := c.settle(t.Context(), 9, 10*time.Second, time.Second, silent); !since[0].IsZero() {
			t.Errorf("a count of 9 was seen at %s", since[0].Sub(began))
		}
		if took := time.Since(began); took < 16*time.Second || took > 17*time.Second {
			t.Errorf("gave up after %s, want the limit of 10s", took)
		}
	})
}

func TestARouteMarksWhatItServes(t *testing.T) {
	a := &attachment{Trial: scenariotest.Trial(t, Scenario, nil), listeners: []scenario.Listener{{Name: "l0"}, {Name: "l1"}}}
	object, err := a.route(42)
	if err != nil {
		t.Fatal(err)
	}
	route := scenariotest.Typed[gatewayv1.HTTPRoute](t, []*unstructured.Unstructured{object.(*unstructured.Unstructured)}, "HTTPRoute")
	want := []gatewayv1.Hostname{"route-00042.l0.gatemark.test", "route-00042.l1.gatemark.test"}
	if diff := cmp.Diff(want, route.Spec.Hostnames); diff != "" {
		t.Errorf("host names (-want +got):\n%s", diff)
	}
	if p := route.Spec.ParentRefs; len(p) != 1 || p[0].Name != scenario.GatewayName || p[0].SectionName != nil {
		t.Errorf("parents %+v: a route attaches to every listener", p)
	}
	set := map[string]string{}
	for _, h := range route.Spec.Rules[0].Filters[0].RequestHeaderModifier.Set {
		set[string(h.Name)] = h.Value
	}
	for _, pair := range marker.Expect("route-00042", 1).Filter() {
		if set[pair[0]] != pair[1] {
			t.Errorf("the route sets %v, want %v", set, pair)
		}
	}
}
