package run

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/measure/scrape"
	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

func use(t *testing.T) *consumption {
	t.Helper()
	target := func(name string) scenario.Target {
		return scenario.Target{
			Treatment:           name,
			ControlPlane:        scenario.Selector{Namespace: name + "-system", Labels: "app=control,tier=a"},
			DataPlane:           scenario.Selector{Namespace: "{{.Namespace}}", Labels: "gateway={{.Name}},of=" + name},
			ControlPlaneMetrics: &scenario.Metrics{Port: 19001, Path: "/metrics"},
		}
	}
	two := target("two")
	two.Treatment = "two/variant"
	trial := &scenario.Trial{Namespace: "gm-trial", Target: target("one"), Others: []scenario.Target{two}, Result: &result.Trial{}}
	planes, err := planesOf(trial)
	if err != nil {
		t.Fatal(err)
	}
	return &consumption{trial: trial, runner: "gatemark-r", planes: planes}
}

func TestRoles(t *testing.T) {
	c := use(t)
	pod := func(namespace string, labels ...string) usage.Member {
		set := map[string]string{}
		for _, l := range labels {
			key, value, _ := strings.Cut(l, "=")
			set[key] = value
		}
		return usage.Member{Pod: &usage.Pod{Namespace: namespace, Labels: set}}
	}
	for _, x := range []struct {
		member usage.Member
		want   string
	}{
		{pod("one-system", "app=control", "tier=a", "hash=1"), controlPlane},
		{pod("one-system", "app=control"), ""},
		{pod("gm-trial", "gateway=gateway", "of=one"), dataPlane},
		{pod("gm-trial", "app=echo"), ours},
		{pod("gatemark-r", "app=runner"), ours},
		{pod("two-system", "app=control", "tier=a"), "other-two-variant-control-plane"},
		{pod("anywhere", "gateway=whichever", "of=two"), "other-two-variant-data-plane"},
		{pod("kube-system", "k8s-app=kube-dns"), kubernetes},
		{pod("", "of=one"), ""}, // one that the API server never had
		{pod("default"), ""},
		{usage.Member{Name: "etcd"}, kubernetes},
		{usage.Member{Name: "sshd"}, ""},
	} {
		if x.member.Pod != nil && x.member.Pod.Labels["gateway"] == "gateway" {
			x.member.Pod.Labels["gateway"] = scenario.GatewayName
		}
		if got := c.role(x.member); got != x.want {
			t.Errorf("%+v is %q, want %q", x.member.Pod, got, x.want)
		}
	}
	want := []scrape.Target{{Role: controlPlane, Namespace: "one-system", Selector: "app=control,tier=a", Port: 19001, Path: "/metrics"}}
	if diff := cmp.Diff(want, c.targets()); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// window is a made-up one in which a control plane and others used something.
func window() *usage.Window {
	nan := math.NaN()
	return &usage.Window{
		Uses: map[string]usage.Use{
			controlPlane: {CPU: 2, Throttled: 0.5, Stalled: nan, Begin: 100, End: 200, Peak: 300, In: 10, Out: 20, Guess: 1, Members: 1},
			usage.Rest:   {CPU: 7, Throttled: nan, Stalled: nan, Begin: 1, End: 2, Peak: 3, In: nan, Out: nan},
		},
		Each:   []usage.MemberUse{{Role: controlPlane, Member: usage.Member{Node: "n1", Pod: &usage.Pod{Namespace: "a", Name: "b"}}, Use: usage.Use{CPU: 2, Begin: 1 << 20, Throttled: nan}}},
		At:     []float64{0, 1, 3},
		CPU:    map[string][]float64{controlPlane: {0, 1, 2}, usage.Rest: {0, 3, 7}},
		Memory: map[string][]float64{controlPlane: {100, 300, 200}, usage.Rest: {1, 3, 2}},
		Gap:    4 * time.Second, Interval: time.Second, GapNode: "n1", Faults: map[string]string{"n2": "it sleeps"},
	}
}

func TestReportUse(t *testing.T) {
	c := use(t)
	c.kubelets = true
	c.reportUse(window())
	trial := c.trial.Result
	got := map[string]float64{}
	for name, m := range trial.Metrics {
		got[name] = *m.Value
	}
	want := map[string]float64{
		"cpu-control-plane": 2, "memory-begin-control-plane": 100, "memory-end-control-plane": 200, "memory-peak-control-plane": 300,
		"network-in-control-plane": 10, "network-out-control-plane": 20, "throttled-control-plane": 0.5,
		"cpu-rest": 7, "memory-begin-rest": 1, "memory-end-rest": 2, "memory-peak-rest": 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if gate := trial.Gates[0]; gate.Name != "resource-samples" || !gate.OK || gate.Value != 4 || gate.Limit != 5 {
		t.Errorf("gate %+v", gate)
	}
	if notes := strings.Join(trial.Notes, " "); !strings.Contains(notes, "n2: it sleeps") || !strings.Contains(notes, "kubelets' own statistics") || !strings.Contains(notes, "is a guess") {
		t.Errorf("notes %q", trial.Notes)
	}
	if diff := cmp.Diff([]string{"control plane", "a/b", "n1", "2.000", "1.0", "0.0", "0.0", "0.0", "0.0", ""}, trial.Tables[0].Rows[0]); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if err := writable(trial, nil); err != nil {
		t.Error(err)
	}
	cpu, ok := trial.Series[0].Column("cpu-control-plane")
	if !ok || !math.IsNaN(cpu.Values[0]) || cpu.Values[1] != 1 || cpu.Values[2] != 0.5 {
		t.Errorf("CPUs %v", cpu.Values)
	}
	for _, f := range trial.Figures {
		for _, line := range f.Lines {
			if _, ok := trial.Series[0].Column(line.Y); !ok {
				t.Errorf("figure %s draws %s, which is not there", f.Name, line.Y)
			}
		}
	}
}

func TestReportScrapes(t *testing.T) {
	c := use(t)
	start := time.Unix(1000, 0)
	one := func(round int, series, gc float64) scrape.Scrape {
		return scrape.Scrape{Round: round, At: start.Add(time.Duration(round) * time.Second), Role: controlPlane, Pod: "p", Bytes: 2000,
			Numbers: scrape.Numbers{Series: series, GC: gc, Heap: 5, Allocations: 100 * gc, Pushes: math.NaN()}}
	}
	failed := one(3, 0, 0)
	failed.Err = os.ErrDeadlineExceeded
	c.reportScrapes([]scrape.Scrape{one(1, 10, 1), one(2, 20, 3), failed}, start, start.Add(10*time.Second))
	got := map[string]float64{}
	for name, m := range c.trial.Result.Metrics {
		got[name] = *m.Value
	}
	want := map[string]float64{"series-begin-control-plane": 10, "series-end-control-plane": 20, "series-peak-control-plane": 20, "heap-peak-control-plane": 5, "gc-cycles-control-plane": 2, "allocations-control-plane": 20}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if notes := strings.Join(c.trial.Result.Notes, " "); !strings.Contains(notes, "1 of 3 scrapes of the control plane failed") || !strings.Contains(notes, "scraped 2 times") {
		t.Errorf("notes %q", c.trial.Result.Notes)
	}
}

// TestMetricsAreDocumented, each of them.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/resource-use.md")
	if err != nil {
		t.Fatal(err)
	}
	c := use(t)
	w := window()
	w.Uses[dataPlane], w.CPU[dataPlane], w.Memory[dataPlane] = usage.Use{}, []float64{0, 0, 0}, []float64{0, 0, 0}
	c.reportUse(w)
	now := time.Now()
	c.reportScrapes([]scrape.Scrape{{Round: 1, At: now, Role: controlPlane}, {Round: 2, At: now.Add(1), Role: controlPlane}}, now, now.Add(time.Second))
	var names []string
	for name := range c.trial.Result.Metrics {
		names = append(names, strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "-rest"), "-control-plane"), "-data-plane"))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) != 15 {
		t.Errorf("%d metrics: %q", len(names), names)
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/resource-use.md does not tell of %s", name)
		}
	}
	for _, gate := range c.trial.Result.Gates {
		if !strings.Contains(string(text), "`"+gate.Name+"`") {
			t.Errorf("docs/resource-use.md does not tell of the gate %s", gate.Name)
		}
	}
}
