package routepropagation

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

const ms = time.Millisecond

// measured is a trial of n routes on two replicas without anything to find:
// status current after 10 ms, served for good after 20 to 24 ms.
func measured(t *testing.T, n int, set map[string]any) *propagation {
	t.Helper()
	if set == nil {
		set = map[string]any{}
	}
	set["routes"] = n
	p := newPropagation(scenariotest.Trial(t, Scenario, set))
	p.config = &scenario.ConfigClock{}
	for i := range n {
		at := time.Now().Add(time.Duration(i) * time.Second)
		r := propagated{name: fmt.Sprintf("route-%05d", i), at: at, answered: 3 * ms, status: 10 * ms,
			outcome: &probe.Outcome{T0: at, Ended: at.Add(400 * ms), Realtime: true}}
		for _, replica := range []string{"ns/envoy-0", "ns/envoy-1"} {
			for _, kind := range p.kinds() {
				r.outcome.Lanes = append(r.outcome.Lanes, probe.Lane{Target: probe.Target{Name: replica}, Connections: kind,
					Transition: probe.Counts{Sent: 20, Old: 20, Status: map[int]int{404: 20}},
					After:      probe.Counts{Sent: 80, Right: 80, Status: map[int]int{200: 80}}})
			}
		}
		p.routes = append(p.routes, r)
		p.serve(i, time.Duration(20+i%5)*ms)
	}
	return p
}

// serve sets when a route is first served and served for good, everywhere.
func (p *propagation) serve(i int, after time.Duration) {
	r := &p.routes[i]
	for j := range r.outcome.Lanes {
		seen := probe.Interval{After: r.at.Add(after - ms), By: r.at.Add(after)}
		if after == 0 {
			seen = probe.Interval{}
		}
		r.outcome.Lanes[j].First, r.outcome.Lanes[j].Stable = seen, seen
	}
}

// fail adds errors of a class to a lane.
func (p *propagation) fail(route, lane int, class load.Class, status, n int) {
	c := &p.routes[route].outcome.Lanes[lane].Transition
	if c.Errors == nil {
		c.Errors = map[load.Class]int{}
	}
	c.Errors[class] += n
	c.Sent += n
	if status != 0 {
		c.Status[status] += n
	}
	p.routes[route].outcome.Lanes[lane].Examples = append(p.routes[route].outcome.Lanes[lane].Examples,
		probe.Example{At: 15 * ms, Class: class, Status: status, Text: "why"})
}

func TestPropagationFindings(t *testing.T) {
	for name, c := range map[string]struct {
		n      int
		change func(p *propagation)
		want   []string
		text   []string // of the findings, in the same order
	}{
		"nothing to find": {n: 120, change: func(*propagation) {}},
		"a single route":  {n: 1, change: func(*propagation) {}},
		"a lane that is never stable": {n: 120, change: func(p *propagation) { p.routes[7].outcome.Lanes[3].Stable = probe.Interval{} },
			want: []string{"never-served broken"},
			text: []string{"1 of 120 new routes were not served for good within 1m0s; the status of 1 of these said"}},
		"never served and never accepted": {n: 120, change: func(p *propagation) { p.serve(7, 0); p.routes[7].status = -1; p.serve(9, 0) },
			want: []string{"never-served broken", "not-accepted costly"},
			text: []string{"2 of 120 new routes were not served for good within 1m0s; the status of 1 of these said", "the status of 1 of 120 valid routes did not say within 1m0s"}},
		"no route is ever served": {n: 120, change: func(p *propagation) {
			for i := range p.routes {
				p.serve(i, 0)
			}
		}, want: []string{"never-served broken"}, text: []string{"120 of 120"}},
		"the first route alone is never served": {n: 120, change: func(p *propagation) { p.serve(0, 0) },
			want: []string{"never-served broken"}, text: []string{"1 of 120"}},
		"errors of several classes": {n: 120, change: func(p *propagation) {
			p.fail(3, 0, load.Status5xx, 503, 2)
			p.fail(3, 1, load.Reset, 0, 1)
			p.fail(5, 2, load.Status5xx, 503, 10)
			p.fail(5, 2, load.Status5xx, 500, 1)
		}, want: []string{"errors broken"},
			text: []string{"users got 14 errors (12× status 503, 1× reset, 1× status 500) in 9614 probes, at 2 of 120 routes"}},
		"two classes, the more frequent one first": {n: 120, change: func(p *propagation) {
			p.fail(5, 2, load.Timeout, 0, 9)
			p.fail(5, 2, load.EOF, 0, 10)
		}, want: []string{"errors broken"}, text: []string{"(10× eof, 9× timeout)"}},
		"answers from another route": {n: 120, change: func(p *propagation) {
			p.fail(4, 0, load.WrongMarker, 200, 11)
			p.routes[4].outcome.Lanes[0].Misrouted = map[string]int{"a": 2, "b": 9}
		}, want: []string{"errors broken", "misrouted broken"},
			text: []string{"11 errors (11× wrong marker)", "11 answers came from another route"}},
		"a short flap": {n: 120, change: func(p *propagation) { p.flap(6, 30*ms) }, want: []string{"flaps info"},
			text: []string{"at 1 of 120 routes a replica that had served the new route answered 404 again, for at most 30ms"}},
		"a long flap": {n: 120, change: func(p *propagation) { p.flap(6, 80*ms) }, want: []string{"flaps notable"},
			text: []string{"for at most 80ms"}},
		"flaps without an end": {n: 120, change: func(p *propagation) {
			p.flap(6, 0)
			p.routes[6].outcome.Lanes[0].Stable = probe.Interval{}
			p.routes[6].outcome.Ended = p.routes[6].at.Add(time.Minute)
		}, want: []string{"never-served broken", "flaps notable"}, text: []string{"1 of 120", "for at most 59.979s"}},
		"a status that comes early": {n: 120, change: func(p *propagation) {
			for i := range p.routes {
				p.serve(i, 200*ms)
			}
		}, want: []string{"status-early notable"}, text: []string{"190ms before every replica served it (median of 120 routes)"}},
		"a status that comes late": {n: 120, change: func(p *propagation) {
			for i := range p.routes {
				p.routes[i].status = 500 * ms
			}
		}},
		"growth": {n: 120, change: func(p *propagation) {
			for i := 108; i < 120; i++ {
				p.serve(i, 48*ms)
			}
		}, want: []string{"grows costly"}, text: []string{"22ms among the first 12, 48ms among the last of 120"}},
		"growth of too few routes": {n: 99, change: func(p *propagation) {
			for i := 80; i < 99; i++ {
				p.serve(i, 48*ms)
			}
		}},
		"growth without an end": {n: 120, change: func(p *propagation) {
			for i := 108; i < 120; i++ {
				p.serve(i, 0)
			}
		}, want: []string{"never-served broken", "ceiling broken", "grows costly"},
			text: []string{"12 of 120", "once there were 108: each of the next 12", "22ms among the first 12, never among the last"}},
		"a slow first route": {n: 120, change: func(p *propagation) { p.serve(0, time.Second) }, want: []string{"first-route info"},
			text: []string{"the first route of a Gateway took 1s to be served for good, later ones 22ms (median)"}},
		"a first route that is thrice as slow and unnoticed": {n: 120, change: func(p *propagation) { p.serve(0, 70*ms) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := measured(t, c.n, nil)
			c.change(p)
			p.report()
			scenariotest.CheckShape(t, Scenario, p.Result)
			scenariotest.CheckFindings(t, p.Result, c.want...)
			for i, text := range c.text {
				if i < len(p.Result.Findings) && !strings.Contains(p.Result.Findings[i].Text, text) {
					t.Errorf("finding %q does not say %q", p.Result.Findings[i].Text, text)
				}
			}
		})
	}
}

// flap makes a lane answer 404 again for a while.
func (p *propagation) flap(route int, long time.Duration) {
	lane := &p.routes[route].outcome.Lanes[0]
	lane.Flaps = 3
	lane.Stable = probe.Interval{After: lane.First.By.Add(long - ms), By: lane.First.By.Add(long)}
}

func TestPropagationMetrics(t *testing.T) {
	p := measured(t, 101, nil)
	p.serve(0, 300*ms)                                                 // the first route is kept apart
	p.serve(1, 0)                                                      // one is never served
	p.routes[2].status = -1                                            // one is never accepted
	p.routes[3].outcome.Lanes[1].Stable = probe.Interval{}             // served, never stable on new connections
	p.routes[4].outcome.Lanes[2].First.By = p.routes[4].at.Add(2 * ms) // first on the other replica
	p.fail(5, 0, load.Refused, 0, 7)
	p.routes[6].outcome.Lanes[3].Flaps = 5
	p.report()
	scenariotest.CheckShape(t, Scenario, p.Result)
	type numbers struct {
		n, censored int
		limit       float64
	}
	for name, want := range map[string]numbers{
		"api":               {100, 0, 0},
		"status":            {99, 1, 60},
		"first-served":      {99, 1, 60},
		"served-everywhere": {99, 1, 60},
		"stable":            {98, 2, 60},
		"stable-kept":       {99, 1, 60},
		"stable-new":        {98, 2, 60},
		"status-lead":       {97, 0, 0},
	} {
		m := p.Result.Metrics[name]
		if got := (numbers{m.N, m.Censored, m.Limit}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for name, want := range map[string]float64{"errors": 7, "flaps": 5, "probes": 101*400 + 7, "first-route": 0.3} {
		if got := *p.Result.Metrics[name].Value; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	// What none was seen in bounds its rate: the tries must be known.
	if got := p.Result.Metrics["errors"].N; got != 101*80+7 {
		t.Errorf("errors counts %d tries, want %d", got, 101*80+7)
	}
	if got := *p.Result.Metrics["first-served"].Min; math.Abs(got-0.002) > 1e-9 {
		t.Errorf("first served after %g s, want 0.002", got)
	}
	if got := *p.Result.Metrics["served-everywhere"].Min; math.Abs(got-0.020) > 1e-9 {
		t.Errorf("served everywhere after %g s, want 0.020", got)
	}
}

func TestPropagationKeepsTheFirstRouteApart(t *testing.T) {
	p := measured(t, 100, nil)
	p.serve(0, 300*ms)
	p.routes[0].answered, p.routes[0].status = 200*ms, 250*ms
	p.report()
	for _, name := range []string{"api", "status", "first-served", "served-everywhere", "stable", "stable-kept", "stable-new"} {
		if m := p.Result.Metrics[name]; m.N != 99 || *m.Max > 0.1 {
			t.Errorf("the first route is among the others in %s: %d samples, at most %g s", name, m.N, *m.Max)
		}
	}
	alone := measured(t, 1, nil)
	alone.report()
	if m := alone.Result.Metrics["stable"]; m.N != 1 {
		t.Errorf("of one route, %d samples", m.N)
	}
}

func TestPropagationStatusLeadHasASign(t *testing.T) {
	for status, want := range map[time.Duration]float64{10 * ms: 0.012, 30 * ms: -0.008} {
		p := measured(t, 100, nil)
		for i := range p.routes {
			p.serve(i, 22*ms)
			p.routes[i].status = status
		}
		p.report()
		if m := p.Result.Metrics["status-lead"]; math.Abs(*m.P50-want) > 1e-9 || m.Better != "" {
			t.Errorf("status after %s, traffic after 22ms: lead %g s (better %q), want %g", status, *m.P50, m.Better, want)
		}
	}
}

func TestPropagationResolutionIsTheStepBehindAMetric(t *testing.T) {
	for connections, want := range map[string]map[string]float64{
		"both": {"stable": 0.004, "stable-kept": 0.001, "stable-new": 0.004, "first-served": 0.004, "api": 0, "status": 0},
		"kept": {"stable": 0.001, "stable-kept": 0.001, "first-served": 0.001},
		"new":  {"stable": 0.004, "stable-new": 0.004},
	} {
		p := measured(t, 10, map[string]any{"connections": connections, "step": "1ms", "freshStep": "4ms"})
		p.report()
		scenariotest.CheckShape(t, Scenario, p.Result)
		scenariotest.CheckFindings(t, p.Result)
		for name, resolution := range want {
			m, ok := p.Result.Metrics[name]
			if !ok || m.Resolution != resolution {
				t.Errorf("%s: %s has resolution %g (%v), want %g", connections, name, m.Resolution, ok, resolution)
			}
		}
		_, kept := p.Result.Metrics["stable-kept"]
		_, fresh := p.Result.Metrics["stable-new"]
		if kept != (connections != "new") || fresh != (connections != "kept") {
			t.Errorf("%s: stable-kept %v, stable-new %v", connections, kept, fresh)
		}
	}
}

func TestPropagationSeriesKeepEveryRoute(t *testing.T) {
	p := measured(t, 10, nil)
	p.serve(4, 0)
	p.fail(5, 2, load.Timeout, 0, 3)
	p.report()
	routes, lanes := p.Result.Series[0], p.Result.Series[1]
	if routes.Len() != 10 || lanes.Len() != 40 {
		t.Fatalf("%d routes, %d lanes", routes.Len(), lanes.Len())
	}
	for i, want := range map[int]float64{3: 0.023, 4: math.Inf(1)} {
		if c, ok := routes.Column("stable"); !ok || math.Abs(c.Values[i]-want) > 1e-9 && c.Values[i] != want {
			t.Errorf("route %d was stable after %v, want %g", i+1, c.Values[i], want)
		}
	}
	errors, _ := lanes.Column("errors")
	replicas, _ := lanes.Column("replica")
	kinds, _ := lanes.Column("connections")
	if at := 5*4 + 2; errors.Values[at] != 3 || replicas.Labels[at] != "ns/envoy-1" || kinds.Labels[at] != "kept" {
		t.Errorf("row %d: %g errors on %s (%s)", at, errors.Values[at], replicas.Labels[at], kinds.Labels[at])
	}
}

func TestPropagationIsHeldAgainstTheProxysClock(t *testing.T) {
	p := measured(t, 10, nil)
	for i, after := range []time.Duration{18 * ms, 19 * ms, 20 * ms} {
		p.routes[i+5].config = []scenario.ConfigInstant{{Replica: "ns/envoy-1", Updated: p.routes[i+5].at.Add(after)}, {Replica: "ns/gone", Updated: p.routes[i+5].at}}
	}
	p.report()
	scenariotest.CheckShape(t, Scenario, p.Result)
	if m := p.Result.Metrics["first-served-after-config"]; m.N != 3 || math.Abs(*m.P50-0.002) > 1e-6 {
		t.Errorf("first served after config: %+v", m)
	}
	if g := scenariotest.Gate(t, p.Result, "served-before-configured"); !g.OK || g.Value != 0 {
		t.Errorf("gate %+v", g)
	}

	p = measured(t, 10, nil)
	p.routes[5].config = []scenario.ConfigInstant{{Replica: "ns/envoy-0", Updated: p.routes[5].at.Add(21 * ms)}}
	p.report()
	if g := scenariotest.Gate(t, p.Result, "served-before-configured"); g.OK || g.Value != 1 {
		t.Errorf("a route was served 1 ms before the proxy had it, and the gate is %+v", g)
	}
}

func TestPropagationLateProbesMakeATrialInvalid(t *testing.T) {
	for late, ok := range map[int]bool{0: true, 2000: true, 2002: false} { // of 4000
		p := measured(t, 10, nil)
		p.routes[3].outcome.Lanes[0].Transition.Late = late / 2
		p.routes[3].outcome.Lanes[1].After.Late = late - late/2
		p.report()
		if g := scenariotest.Gate(t, p.Result, "late-probes"); g.OK != ok {
			t.Errorf("%d of 4000 late: %+v", late, g)
		}
	}
}

func TestPropagationLateProbesAtTheChange(t *testing.T) {
	for late, ok := range map[int]bool{0: true, 4: true, 5: false} { // lanes of 40
		p := measured(t, 10, nil)
		for i := range late {
			o := p.routes[i].outcome
			lane := &o.Lanes[0]
			due := lane.First.By.Sub(o.T0) - ms
			lane.Samples = append(lane.Samples, probe.Sample{Due: due, Began: due + 20*ms, Sent: due + 20*ms, Received: due + 21*ms})
			p.routes[i].moved = moved(o)
		}
		p.report()
		if g := scenariotest.Gate(t, p.Result, "late-at-change"); g.OK != ok {
			t.Errorf("%d of 40 lanes: %+v", late, g)
		}
	}
}

func TestPropagationSpreadsConfigChecksEvenly(t *testing.T) {
	for _, c := range []struct{ routes, checks, want, gap int }{
		{3000, 50, 50, 60}, {100, 50, 50, 2}, {30, 50, 30, 1}, {100, 0, 0, 0}, {100, 1, 1, 0}, {7, 3, 3, 3}, {1, 50, 1, 0},
	} {
		p := newPropagation(scenariotest.Trial(t, Scenario, map[string]any{"routes": c.routes, "configChecks": c.checks}))
		var due []int
		for i := range c.routes {
			if p.due(i) {
				due = append(due, i)
			}
		}
		if len(due) != c.want || len(due) > 0 && due[0] != 0 {
			t.Errorf("%d checks on %d routes: %v", c.checks, c.routes, due)
		}
		for i := 1; i < len(due); i++ {
			if gap := due[i] - due[i-1]; gap > c.gap {
				t.Errorf("%d checks on %d routes: a gap of %d", c.checks, c.routes, gap)
			}
		}
	}
}

func TestSecondsInWords(t *testing.T) {
	for s, want := range map[float64]string{
		0.00001: "10µs", 0.012345: "12.35ms", 0.1234: "123ms", 1.2345: "1.23s", 12.345: "12.3s", -0.5: "-500ms",
		math.Inf(1): "never", math.NaN(): "never",
	} {
		if got := scenario.Seconds(s); got != want {
			t.Errorf("%g s is %q, want %q", s, got, want)
		}
	}
}

func TestExcerptSaysHowMuchIsLeftOut(t *testing.T) {
	lines := make([]string, scenario.ExcerptLines+3)
	for i := range lines {
		lines[i] = fmt.Sprint(i)
	}
	got := strings.Split(scenario.Excerpt(lines), "\n")
	if len(got) != scenario.ExcerptLines+1 || got[scenario.ExcerptLines] != "and 3 more" || lines[scenario.ExcerptLines] != "20" {
		t.Errorf("excerpt %q", got)
	}
	if got := scenario.Excerpt(lines[:scenario.ExcerptLines]); strings.Contains(got, "more") {
		t.Errorf("excerpt %q", got)
	}
}
