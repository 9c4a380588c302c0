package attachedroutes

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/measure/audit"
	"github.com/gatemark/gatemark/measure/history"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// TestSinglesAreNoUntruth: a route on top of all others, and its going, explain
// what the counts do.
func TestSinglesAreNoUntruth(t *testing.T) {
	versions := map[time.Duration][]int{
		0: {0, 0}, 5 * time.Second: {4, 4},
		10 * time.Second: {5, 4}, 10200 * time.Millisecond: {5, 5}, 11 * time.Second: {4, 4}, 25 * time.Second: {0, 0},
	}
	a := attached(versions)
	// Without it they would be one.
	scenariotest.CheckFindings(t, a.Result, "overcount broken", "count-went-back notable", "count-late notable")
	a.again(func() {
		at := func(d time.Duration) time.Time { return a.Zero().Add(d) }
		a.up.reached = []time.Time{at(5 * time.Second), at(5 * time.Second)}
		a.singles = []single{
			{more: true, sent: at(9900 * ms), answered: at(9950 * ms), reached: at(10200 * ms)},
			{sent: at(10900 * ms), answered: at(10950 * ms), reached: at(11 * time.Second)},
		}
	})
	scenariotest.CheckFindings(t, a.Result)
	if m := a.Result.Metrics["one-more"]; m.N != 1 || *m.P50 < 0.2999 || *m.P50 > 0.3001 {
		t.Errorf("one-more: %+v", m)
	}
	if m := a.Result.Metrics["one-fewer"]; m.N != 1 || *m.P50 < 0.0999 || *m.P50 > 0.1001 {
		t.Errorf("one-fewer: %+v", m)
	}
	count, _ := a.Result.Series[1].Column("routes")
	if diff := cmp.Diff([]float64{1, 2, 3, 4, 5, 4, 3, 2, 1, 0}, []float64(count.Values)); diff != "" {
		t.Errorf("existing routes (-want +got):\n%s", diff)
	}
	scenariotest.CheckFigures(t, a.Result)
}

func TestASingleThatIsNeverCountedIsCensored(t *testing.T) {
	a := counting()
	a.again(func() {
		a.singles = []single{{more: true, sent: a.Zero(), answered: a.Zero()}, {unwatched: true, sent: a.Zero(), answered: a.Zero()}}
	})
	if m := a.Result.Metrics["one-more"]; m.N != 0 || m.Censored != 1 || m.Limit != 10 {
		t.Errorf("one-more: %+v", m)
	}
	if _, there := a.Result.Metrics["one-fewer"]; there {
		t.Error("nobody waited for one fewer")
	}
}

// TestCountsOfSetsStandBesideTheGateways: each status changes its own listeners
// only.
func TestCountsOfSetsStandBesideTheGateways(t *testing.T) {
	listeners := append([]scenario.Listener{{Name: "l0"}}, setListeners(2, 1)...)
	c := &attachedCounts{listeners: listeners, changed: make(chan struct{})}
	gateway, set := &gatewayv1.Gateway{}, &gatewayv1.ListenerSet{}
	gateway.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "l0", AttachedRoutes: 7}, {Name: "set0-l0", AttachedRoutes: 99}}
	set.Name, set.Status.Listeners = "set0", []gatewayv1.ListenerEntryStatus{{Name: "set0-l0", AttachedRoutes: 5}}
	c.record(history.Event[gatewayv1.Gateway]{Type: watch.Added, Object: gateway, At: time.Now()})
	c.recordSet(history.Event[gatewayv1.ListenerSet]{Type: watch.Added, Object: set, At: time.Now()})
	emptied := set.DeepCopy()
	emptied.Status.Listeners = nil
	c.recordSet(history.Event[gatewayv1.ListenerSet]{Type: watch.Modified, Object: emptied, At: time.Now()})
	c.recordSet(history.Event[gatewayv1.ListenerSet]{Type: watch.Deleted, Object: set, At: time.Now()})
	var got [][]int
	for _, v := range c.all() {
		got = append(got, v.counts)
	}
	if diff := cmp.Diff([][]int{{7, -1, -1}, {7, 5, -1}, {7, -1, -1}}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestListenerSetsInManifests(t *testing.T) {
	a := &attachment{Trial: scenariotest.Trial(t, Scenario, nil), listeners: append([]scenario.Listener{{Name: "l0"}}, setListeners(2, 2)...)}
	a.rivals = []*rival{{gateway: scenario.RivalGateway("other/variant#2")}}
	object, err := a.route(3)
	if err != nil {
		t.Fatal(err)
	}
	route := scenariotest.Typed[gatewayv1.HTTPRoute](t, []*unstructured.Unstructured{object.(*unstructured.Unstructured)}, "HTTPRoute")
	var parents []string
	for _, p := range route.Spec.ParentRefs {
		parents = append(parents, string(*p.Kind)+" "+string(p.Name))
	}
	if diff := cmp.Diff([]string{"Gateway gateway", "ListenerSet set0", "ListenerSet set1", "Gateway rival-other-variant-2"}, parents); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	if n := len(route.Spec.Hostnames); n != 5 || route.Spec.Hostnames[4] != "route-00003.set1-l1.gatemark.test" {
		t.Errorf("host names %v", route.Spec.Hostnames)
	}
	objects, err := a.Render("listenerset.yaml", setManifest, map[string]any{
		"Name": "set1", "Namespace": "gm-1", "Gateway": scenario.GatewayName, "Listeners": a.listeners[3:],
	})
	if err != nil {
		t.Fatal(err)
	}
	set := scenariotest.Typed[gatewayv1.ListenerSet](t, objects, "ListenerSet")
	if l := set.Spec.Listeners; len(l) != 2 || l[1].Name != "set1-l1" || *l[1].Hostname != "*.set1-l1.gatemark.test" || l[1].Port != scenario.ListenerPort || set.Spec.ParentRef.Name != scenario.GatewayName {
		t.Errorf("set %+v", set.Spec)
	}
	if got := setLacks(set); len(got) != 2 || !strings.Contains(got[1], "0 of 2 listeners have a status") {
		t.Errorf("a set without a status lacks %q", got)
	}
	rivals, err := a.Render("rival.yaml", rivalManifest, map[string]any{
		"Name": a.rivals[0].gateway, "Namespace": "gm-1", "GatewayClass": "class", "Listeners": a.gatewayListeners(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if g := scenariotest.Typed[gatewayv1.Gateway](t, rivals, "Gateway"); len(g.Spec.Listeners) != 1 || g.Spec.GatewayClassName != "class" {
		t.Errorf("the rival's Gateway: %+v", g.Spec)
	}
}

// TestSetsAreUnsupportedWhereFeaturesAreListedWithoutThem, and tried where none
// are.
func TestSetsAreUnsupportedWhereFeaturesAreListedWithoutThem(t *testing.T) {
	for _, c := range []struct {
		features []string
		want     result.Outcome
	}{
		{nil, result.OK}, {[]string{"Gateway", "ListenerSet"}, result.OK}, {[]string{"Gateway", "HTTPRoute"}, result.Unsupported},
	} {
		class := &gatewayv1.GatewayClass{}
		class.Name = "class"
		for _, name := range c.features {
			class.Status.SupportedFeatures = append(class.Status.SupportedFeatures, gatewayv1.SupportedFeature{Name: gatewayv1.FeatureName(name)})
		}
		if got, why := scenario.Outcome(scenario.ListsFeature(class, setFeature)); got != c.want {
			t.Errorf("%q: %s (%s), want %s", c.features, got, why, c.want)
		}
	}
}

func TestListenersAreLimited(t *testing.T) {
	for sets, ok := range map[int]bool{0: true, 7: true, 8: false} {
		errs := checkListeners(map[string]any{"listeners": 2, "listenerSets": sets, "setListeners": 2})
		if (len(errs) == 0) != ok {
			t.Errorf("%d sets of 2 beside 2 listeners: %v", sets, errors.Join(errs...))
		}
	}
}

func TestEntriesAreCountedByController(t *testing.T) {
	entry := func(controller, gateway string) gatewayv1.RouteParentStatus {
		return gatewayv1.RouteParentStatus{ControllerName: gatewayv1.GatewayController(controller), ParentRef: gatewayv1.ParentReference{Name: gatewayv1.ObjectName(gateway)}}
	}
	set := entry("a/a", "set0")
	set.ParentRef.Kind = ptr.To(gatewayv1.Kind("ListenerSet"))
	routes := make([]gatewayv1.HTTPRoute, 2)
	routes[0].Status.Parents = []gatewayv1.RouteParentStatus{entry("a/a", "gateway"), set, entry("b/b", "rival-b"), entry("b/b", "rival-b"), entry("b/b", "gateway")}
	routes[1].Status.Parents = []gatewayv1.RouteParentStatus{entry("a/a", "gateway"), entry("a/a", "nowhere")}
	got := countEntries(routes, map[string]string{"gateway": "a/a", "rival-b": "b/b"})
	want := map[string]entryCount{"a/a": {entries: 4}, "b/b": {entries: 3, duplicates: 1, misplaced: 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entryCount{})); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// TestEachImplementationHasItsOwnClock: in the table of a joined trial.
func TestEachImplementationHasItsOwnClock(t *testing.T) {
	a := counting()
	a.Target = scenario.Target{Treatment: "one", ControllerName: "a/a"}
	late, never := a.Zero().Add(9*time.Second), time.Time{}
	a.rivals = []*rival{
		{target: scenario.Target{Treatment: "two", ControllerName: "b/b"}, gateway: "rival-two", up: []time.Time{late, late}, down: []time.Time{late, never},
			status: &scenario.RouteStatus{Current: map[string]time.Time{}}},
	}
	a.entries = map[string]entryCount{"a/a": {entries: 4}, "b/b": {entries: 8, duplicates: 4}}
	report := audit.Report{
		Owners: map[string]string{"a/a": "user-a", "b/b": "user-b"},
		Writers: []audit.Writer{
			{Name: "user-a", Total: audit.Counts{Writes: 5, Conflicts: 1}, Kinds: map[string]audit.Counts{"gateways": {Writes: 2}, "httproutes": {Writes: 3, Conflicts: 1}}},
			{Name: "user-b", Total: audit.Counts{Writes: 70, NoOps: 6}, Kinds: map[string]audit.Counts{"httproutes": {Writes: 70, NoOps: 6}}},
		},
	}
	a.joinedTable(report)
	table := a.Result.Tables[len(a.Result.Tables)-1]
	want := [][]string{
		{"one", "5.000 s", "4.000 s", "3.500 s", "2", "3", "1", "0"},
		{"two", "9.000 s", "never", "never", "0", "70", "0", "6"},
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{scenario.GatewayName: "a/a", "rival-two": "b/b"}, a.controllers()); diff != "" {
		t.Errorf("controllers (-want +got):\n%s", diff)
	}
	a.entriesTable()
	if rows := a.Result.Tables[len(a.Result.Tables)-1].Rows; len(rows) != 2 || !slices.Equal(rows[1], []string{"b/b", "8", "4", "4", "0"}) {
		t.Errorf("entries %q", rows)
	}
}

// TestSettlingTogether: nobody's pace is another's.
func TestSettlingTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := func(after time.Duration) *attachedCounts {
			c := &attachedCounts{listeners: make([]scenario.Listener, 1), changed: make(chan struct{})}
			time.AfterFunc(after, func() { c.take(time.Now(), "", map[string]int{"": 4}) })
			return c
		}
		began := time.Now()
		a := &attachment{Trial: scenariotest.Trial(t, Scenario, map[string]any{"limit": "10s", "hold": "1s"}), counts: counts(time.Second)}
		a.rivals = []*rival{{counts: counts(3 * time.Second)}, {counts: counts(time.Hour)}}
		p := &phase{want: 4}
		a.settleAll(t.Context(), p)
		if p.reached[0].Sub(began) != time.Second || a.rivals[0].up[0].Sub(began) != 3*time.Second || !a.rivals[1].up[0].IsZero() {
			t.Errorf("counted after %v, %v and %v", p.reached[0].Sub(began), a.rivals[0].up[0].Sub(began), a.rivals[1].up[0])
		}
	})
}
