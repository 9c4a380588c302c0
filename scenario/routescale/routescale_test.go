package routescale

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

const mb = 1 << 20

// A meterOf knows use as functions of time, in seconds since the beginning.
type meterOf struct {
	zero   time.Time
	memory func(role string, at float64) float64
	cpu    func(role string) float64 // CPUs
}

func (m *meterOf) Edge(context.Context) {}

func (m *meterOf) Window(from, to time.Time) *usage.Window {
	w := &usage.Window{From: from, To: to, Uses: map[string]usage.Use{}, Memory: map[string][]float64{}}
	length := to.Sub(from).Seconds()
	for at := 0.0; at <= length; at += 2 {
		w.At = append(w.At, at)
		for _, role := range planes {
			w.Memory[role] = append(w.Memory[role], m.memory(role, from.Sub(m.zero).Seconds()+at))
		}
	}
	for _, role := range append([]string{scenario.KubernetesRole, "other-x-control-plane"}, planes...) {
		w.Uses[role] = usage.Use{CPU: m.cpu(role) * length}
	}
	w.Each = append(w.Each, usage.MemberUse{Role: scenario.KubernetesRole, Member: usage.Member{Name: "etcd"}, Use: usage.Use{CPU: 0.1 * length}})
	return w
}

// simulated is a trial of 300 routes in which nothing is wrong, unless spoil
// spoils it: parts of 100 s each, but for 400 s of changes, and a plane that
// takes 1 MiB for each ten routes and gives it back.
func simulated(t *testing.T, spoil func(s *scaling, m *meterOf)) *scaling {
	t.Helper()
	s := &scaling{
		Trial:      scenariotest.Trial(t, Scenario, map[string]any{"rest": "100s"}),
		status:     &scenario.RouteStatus{Current: map[string]time.Time{}, Lacks: map[string]string{}},
		namespaces: []string{"a", "b", "c"},
	}
	zero := time.Now()
	at := func(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }
	m := &meterOf{zero: zero, cpu: func(role string) float64 { return 0.2 }, memory: func(role string, at float64) float64 {
		routes := min(max(at-100, 0)/100, 1) * 300
		if at > 1000 {
			routes = 0
		}
		return 50*mb + routes*mb/10 + float64(int(at*7)%11)*mb/10
	}}
	s.Meter = m
	for i := range 300 {
		r := s.newRoute(i)
		s.routes = append(s.routes, r)
		s.status.Current[r.name] = at(100 + float64(i)/3)
	}
	from := 0.0
	for _, p := range []struct {
		name   string
		length float64
	}{{atRestBefore, 100}, {growing, 100}, {atRestFull, 100}, {singleChanges, 10}, {changing, 400}, {atRestChanged, 100}, {restarting, 100}, {deleting, 100}, {atRestDeleted, 100}} {
		s.phases = append(s.phases, &phase{name: p.name, from: at(from), to: at(from + p.length), routes: 300})
		s.Phase(at(from), p.name)
		from += p.length
	}
	s.of(changing).changes = 8000
	for i := range 10 {
		begin := 100 + 10*float64(i)
		s.steps = append(s.steps, &step{first: 30 * i, size: 30 * (i + 1), sent: at(begin), answered: at(begin + 1), accepted: at(begin + 1.5), served: at(begin + 2), from: at(begin + 7), to: at(begin + 10)})
	}
	s.churned = churned{asked: 20, done: 8000, took: 400 * time.Second, settled: 0.2}
	for _, when := range []string{withFew, withAll, whileChanging} {
		for range 5 {
			s.singles = append(s.singles, single{when: when, routes: 300, took: 0.1})
		}
	}
	for _, when := range []string{"with all routes", "after the changes", "after the restart of the control plane", "after the restart of the data plane"} {
		s.sweeps = append(s.sweeps, s.swept(when, nil))
	}
	s.again = []*restarted{
		{plane: scenario.ControlPlaneRole, routes: 300, ready: 3, complete: 4, lost: s.sweeps[2]},
		{plane: scenario.DataPlaneRole, routes: 300, ready: 3, complete: 4, replicas: 1, asked: 300, early: map[string]int{}, lost: s.sweeps[3]},
	}
	s.written.Store(900)
	s.writing = 10 * time.Second
	s.deleted = deletion{routes: 300, took: time.Second, gone: 0.5}
	if spoil != nil {
		spoil(s, m)
	}
	s.report()
	if s.Meter != nil { // without it a headline is missing
		scenariotest.CheckShape(t, Scenario, s.Result)
	}
	return s
}

// swept is a sweep in which those routes were wrong for which wrong says how.
func (s *scaling) swept(when string, wrong func(r *route) string) *sweep {
	w := &sweep{when: when, routes: len(s.routes), Sweep: scenario.Sweep{Wrong: map[string]int{}}, asked: map[*route]bool{}, bad: map[*route]bool{}}
	for _, r := range s.routes {
		what := ""
		if wrong != nil {
			what = wrong(r)
		}
		w.take(r, "ns/proxy", what)
	}
	return w
}

func near(t *testing.T, m result.Metric, want, within float64) {
	t.Helper()
	if m.Value == nil || math.Abs(*m.Value-want) > within {
		t.Errorf("%s: %v, want %g", m.Title, m.Value, want)
	}
}

func TestNothingToFind(t *testing.T) {
	s := simulated(t, nil)
	scenariotest.CheckFindings(t, s.Result)
	m := s.Result.Metrics
	near(t, m["routes-served"], 300, 0)
	near(t, m["bytes-per-route-data-plane"], mb/10, mb/100)
	if b := m["bytes-per-route-data-plane"]; b.Lo == nil || *b.Lo > mb/10 || *b.Hi < mb/10 {
		t.Errorf("bounds of %+v", b)
	}
	near(t, m["create-cpu-control-plane"], 0.2*100/300, 1e-9)
	near(t, m["change-cpu-control-plane"], 0, 1e-9) // as at rest
	near(t, m["rest-cpu-etcd"], 0.1, 1e-9)
	near(t, m["create-rate"], 90, 1e-9)
	near(t, m["memory-full-control-plane"], 80.5*mb, mb)
	near(t, m["memory-deleted-control-plane"], 50.5*mb, mb)
	for _, table := range s.Result.Tables {
		if table.Name == "parts" && (len(table.Rows) != 9 || table.Rows[0][9] != "20.00") {
			t.Errorf("rows %q", table.Rows)
		}
	}
}

func TestWithoutUseThereIsNoCost(t *testing.T) {
	s := simulated(t, func(s *scaling, _ *meterOf) { s.Meter = nil })
	for name := range s.Result.Metrics {
		if strings.Contains(name, "cpu") || strings.Contains(name, "memory") || strings.Contains(name, "bytes") {
			t.Errorf("metric %s is of use that nobody observed", name)
		}
	}
}

func TestFindings(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s *scaling, m *meterOf)
		want  []string
		says  string
	}{
		"every tenth is ignored": {func(s *scaling, _ *meterOf) {
			s.sweeps[0] = s.swept("with all routes", func(r *route) string {
				if r.number%10 == 0 {
					r.unserved = true
					return "status 404"
				}
				return ""
			})
		}, []string{"ignored broken"}, "30 of 300 routes were not answered by themselves"},
		"a ceiling, silently": {func(s *scaling, _ *meterOf) {
			s.ceiling = &ceiling{routes: 200, of: 300, accepted: 3, tried: true, silent: 103, unserved: 103, waited: time.Minute}
		}, []string{"ceiling broken"}, "no new route comes into force any more once there are 200: of 300 that were created, 200 are served, and none of 3 further ones was within 1m0s; everything is frozen: a change to a route that is served is not taken, and a deleted one goes on being served; it is silent about that: the status of all 103 routes"},
		"a ceiling, said": {func(s *scaling, _ *meterOf) {
			s.ceiling = &ceiling{routes: 200, of: 300, tried: true, edited: true, deleted: true, unserved: 103, words: map[string]int{"Accepted is False: too many": 103}, status: "x", waited: time.Minute}
		}, []string{"ceiling broken"}, "changes to routes that are served, and deletions, are still taken; the status says: 103× Accepted is False: too many"},
		"a ceiling of the status": {func(s *scaling, _ *meterOf) {
			s.ceiling = &ceiling{routes: 300, of: 300, served: 3, tried: true, edited: true, deleted: true, words: map[string]int{"no status at all": 53}, status: "x", waited: time.Minute}
		}, []string{"ceiling broken"}, "the status of no new route becomes current any more once there are 300"},
		"others were served": {func(s *scaling, _ *meterOf) { s.ceiling = &ceiling{served: 2, accepted: 3} }, nil, ""},
		"stale": {func(s *scaling, _ *meterOf) {
			s.churned.waited = 300
			s.churned.stale = map[*route]string{s.routes[4]: "answered by a pod that is no endpoint any more on ns/proxy"}
			s.churned.settled = math.Inf(1)
		}, []string{"stale-after-changes broken"}, "1 of 300 routes were not as they were to be (1× answered by a pod that is no endpoint any more)"},
		"ready early": {func(s *scaling, _ *meterOf) {
			s.again[1].early, s.again[1].until, s.again[1].examples = map[string]int{"status 404": 12}, 1500*time.Millisecond, []string{"x"}
		}, []string{"ready-early broken"}, "12 of 300 questions were answered wrongly (12× status 404), the last of them 1.5s after"},
		"lost": {func(s *scaling, _ *meterOf) {
			s.again[0].lost = s.swept("x", func(r *route) string {
				if r.number > 290 {
					return "status 503"
				}
				return ""
			})
		}, []string{"lost-control-plane broken"}, "9 of 300 routes that had been served"},
		"never back": {func(s *scaling, _ *meterOf) { s.again[1].complete = math.Inf(1) }, []string{"never-back-data-plane broken"}, "not all new pods were there"},
		"not deleted": {func(s *scaling, _ *meterOf) {
			s.deleted.served, s.deleted.gone = map[*route]string{s.routes[1]: "x"}, math.Inf(1)
		}, []string{"deleted-served broken"}, "1 of them were still served"},
		"slow": {func(s *scaling, _ *meterOf) {
			for i := range s.singles {
				if s.singles[i].when == withAll {
					s.singles[i].took = 3
				}
			}
		}, []string{"slow-with-many costly"}, "among 300 routes a single change takes 3s until every replica serves it, and took 100ms among few"},
		"no status": {func(s *scaling, _ *meterOf) {
			delete(s.status.Current, s.routes[7].name)
			s.status.Lacks[s.routes[7].name] = "Accepted is missing"
		}, []string{"not-accepted costly"}, "the status of 1 of 300 valid routes"},
		"a leak": {func(_ *scaling, m *meterOf) {
			before := m.memory
			m.memory = func(role string, at float64) float64 {
				if role == scenario.DataPlaneRole {
					return before(role, at)
				}
				return before(role, at) + max(0, min(at-310, 400))*20*mb/60
			}
		}, []string{"leak-control-plane costly", "memory-kept-control-plane notable"}, "the memory of the control plane grows without an end in sight"},
		"nothing is given back": {func(_ *scaling, m *meterOf) {
			before := m.memory
			m.memory = func(role string, at float64) float64 { return before(role, min(at, 250)) }
		}, []string{"memory-kept-control-plane notable", "memory-kept-data-plane notable"}, "of 30 MiB that the control plane took for 300 routes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulated(t, c.spoil)
			scenariotest.CheckFindings(t, s.Result, c.want...)
			if len(c.want) > 0 && !strings.Contains(s.Result.Findings[0].Text, c.says) {
				t.Errorf("it says %q", s.Result.Findings[0].Text)
			}
		})
	}
}

// TestAStepThatSettles is no leak: what the first changes take is kept.
func TestAStepThatSettles(t *testing.T) {
	for name, memory := range map[string]func(at float64) float64{
		"at once":     func(at float64) float64 { return 100 * mb * min(at/20, 1) },
		"slowly":      func(at float64) float64 { return 100 * mb * (1 - math.Exp(-at/40)) },
		"a saw tooth": func(at float64) float64 { return 50*mb + math.Mod(at, 17)*3*mb },
		"falling":     func(at float64) float64 { return 500*mb - at*mb },
	} {
		var at, bytes []float64
		for x := 0.0; x < 180; x++ {
			at, bytes = append(at, x), append(bytes, memory(x))
		}
		if l := leakOf(at, bytes); l.is() {
			t.Errorf("%s is a leak: %+v", name, l)
		}
	}
	if l := leakOf([]float64{0, 60, 120}, nil); l.is() || l.tells() || !math.IsNaN(l.level) {
		t.Errorf("of a plane that nobody saw: %+v", l)
	}
	if l := leakOf(nil, nil); l.is() || l.tells() {
		t.Errorf("nothing is a leak: %+v", l)
	}
}

// TestStepsGoOnlyUp: routes by which a ceiling was looked for may be more than
// there were to be.
func TestStepsGoOnlyUp(t *testing.T) {
	s := &scaling{Trial: scenariotest.Trial(t, Scenario, map[string]any{"namespaces": 4, "routes": 10, "steps": 4})}
	for _, c := range []struct{ step, there, unserved, want int }{
		{0, 0, 0, 10}, {1, 10, 0, 10}, {1, 13, 1, 27}, {2, 23, 1, 17}, {3, 43, 1, 0}, {3, 43, 0, 0},
	} {
		s.routes, s.steps = make([]*route, c.there), nil
		if c.step > 0 {
			s.steps = []*step{{unserved: c.unserved}}
		}
		if got := s.fresh(c.step); got != c.want {
			t.Errorf("step %d with %d routes, %d of them not served: %d more, want %d", c.step, c.there, c.unserved, got, c.want)
		}
	}
}

func testModel(t testing.TB, s *scaling) *model {
	t.Helper()
	m, err := s.modelOf(&discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("tls"), Port: ptr.To[int32](8443)}, {Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Name: "echo-a"}}, {Addresses: []string{"10.0.0.2"}, TargetRef: &corev1.ObjectReference{Name: "echo-b"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheObjectsOfARoute(t *testing.T) {
	s := &scaling{Trial: scenariotest.Trial(t, Scenario, nil), namespaces: []string{"a", "b", "c"}}
	m := testModel(t, s)
	r := s.newRoute(7)
	r.generation = 3
	objects := m.objects(r)
	service, slice, http := objects[0].(*corev1.Service), objects[1].(*discoveryv1.EndpointSlice), objects[2].(*gatewayv1.HTTPRoute)
	for _, o := range objects {
		if o.GetName() != "route-00007" || o.GetNamespace() != "b" || !kube.Owned(o) || o.GetLabels()[kube.TrialLabel] != "b01" {
			t.Errorf("%s/%s has labels %v", o.GetNamespace(), o.GetName(), o.GetLabels())
		}
	}
	if len(service.Spec.Selector) > 0 || slice.Labels[discoveryv1.LabelServiceName] != "route-00007" || slice.Endpoints[0].Addresses[0] != "10.0.0.2" || *slice.Ports[0].Port != 8080 {
		t.Errorf("service %+v, slice %+v", service.Spec, slice)
	}
	rule := http.Spec.Rules[0]
	if string(http.Spec.Hostnames[0]) != r.host() || string(rule.BackendRefs[0].Name) != r.name || fmt.Sprint(rule.Filters[0].RequestHeaderModifier.Set) != "[{Gatemark-Route route-00007} {Gatemark-Generation 3}]" ||
		string(*http.Spec.ParentRefs[0].Namespace) != s.Namespace {
		t.Errorf("route %+v", http.Spec)
	}
	e := m.expects(r)
	if e.Want.Pod != "echo-b" || e.Want.Generation != 3 || e.Gone {
		t.Errorf("expects %+v", e)
	}
	if other := m.objects(s.newRoute(8))[1].(*discoveryv1.EndpointSlice); other.Labels[discoveryv1.LabelServiceName] != "route-00008" || slice.Labels[discoveryv1.LabelServiceName] != "route-00007" {
		t.Error("two routes share labels")
	}
	r.gone = true
	if e := m.expects(r); !e.Gone {
		t.Errorf("of a deleted route it expects %+v", e)
	}
}

func TestANewcomer(t *testing.T) {
	began := time.Now()
	one := &newcomer{name: "ns/proxy", ready: began.Add(time.Second), early: map[string]int{}, complete: began.Add(3 * time.Second)}
	one.take(began.Add(1500*time.Millisecond), "route-00001", "status 404")
	one.take(began.Add(1600*time.Millisecond), "route-00002", "")
	other := &newcomer{name: "ns/other", ready: began.Add(2 * time.Second), early: map[string]int{}}
	got := summed(began, map[string]*newcomer{"a": one, "b": other}, 2)
	if got.ready != 2 || !math.IsInf(got.complete, 1) || got.asked != 2 || got.early["status 404"] != 1 || got.until != 500*time.Millisecond || len(got.examples) != 1 {
		t.Errorf("%+v", got)
	}
	if got := summed(began, map[string]*newcomer{"a": one}, 2); !math.IsInf(got.ready, 1) {
		t.Errorf("one of two: %+v", got)
	}
	if got := summed(began, map[string]*newcomer{"a": one}, 1); got.complete != 3 {
		t.Errorf("%+v", got)
	}
}

func TestCheck(t *testing.T) {
	if problems := Scenario.Check(map[string]any{"namespaces": 2000, "routes": 50}); len(problems) != 0 {
		t.Errorf("%v", problems)
	}
	if problems := Scenario.Check(map[string]any{"namespaces": 2000, "routes": 51}); len(problems) != 1 {
		t.Errorf("%v", problems)
	}
	for _, v := range []string{"both", "control", "data", "none"} {
		values := scenariotest.Trial(t, Scenario, map[string]any{"restart": v}).Values
		if Scenario.Estimate(values) < time.Minute || len(Scenario.Writes(values)) == 0 {
			t.Errorf("restart %s: %s, %v", v, Scenario.Estimate(values), Scenario.Writes(values))
		}
	}
}

func TestARouteOfAListenerSet(t *testing.T) {
	s := &scaling{Trial: scenariotest.Trial(t, ListenerSets, nil), namespaces: []string{"a", "b"}, perSet: 4}
	m := testModel(t, s)
	for i := range 3 {
		name := fmt.Sprintf("set-%05d", i)
		s.sets = append(s.sets, &set{namespace: s.namespaces[i%2], name: name, domain: name + ".gatemark.test", serial: fmt.Sprint(i)})
	}
	r := s.newRoute(7)
	objects := m.objects(r)
	http := objects[0].(*gatewayv1.HTTPRoute)
	parent := http.Spec.ParentRefs[0]
	if len(objects) != 1 || http.Namespace != "b" || string(*parent.Kind) != "ListenerSet" || string(parent.Name) != "set-00001" || parent.Namespace != nil ||
		string(http.Spec.Hostnames[0]) != "route-00007.set-00001.gatemark.test" || string(http.Spec.Rules[0].BackendRefs[0].Name) != sharedBackend {
		t.Errorf("route %+v", http)
	}
	if e := m.expects(r); e.Serial != "1" || e.Want.Pod != "" {
		t.Errorf("expects %+v", e)
	}
	r.gone = true
	if e := m.expects(r); e.Serial != "1" || !e.Gone {
		t.Errorf("expects %+v", e)
	}
}

func TestWhatListenerSetsLack(t *testing.T) {
	ready := &gatewayv1.ListenerSet{}
	for _, kind := range []string{"Accepted", "Programmed"} {
		ready.Status.Conditions = append(ready.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
	}
	lacking := ready.DeepCopy()
	lacking.Namespace, lacking.Name = "ns", "set"
	lacking.Status.Conditions[1].Status, lacking.Status.Conditions[1].Reason = metav1.ConditionFalse, "Pending"
	if done, progress := allReadySets([]*gatewayv1.ListenerSet{ready, lacking}, 2); done || !strings.HasPrefix(progress, "1 of 2 are programmed; ns/set: Programmed is False") {
		t.Errorf("%v, %q", done, progress)
	}
	if done, progress := allReadySets([]*gatewayv1.ListenerSet{ready, ready}, 2); !done || progress != "2 of 2 are programmed" {
		t.Errorf("%v, %q", done, progress)
	}
}
