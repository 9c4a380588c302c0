package routepropagation

import (
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// each changes every route.
func (p *propagation) each(change func(i int, r *propagated)) {
	for i := range p.routes {
		change(i, &p.routes[i])
	}
}

// trail makes a replica serve every route so much later than the other one.
func (p *propagation) trail(replica string, by time.Duration) {
	p.each(func(_ int, r *propagated) {
		for j := range r.outcome.Lanes {
			if lane := &r.outcome.Lanes[j]; lane.Target.Name == replica {
				for _, seen := range []*probe.Interval{&lane.First, &lane.Stable} {
					seen.After, seen.By = seen.After.Add(by), seen.By.Add(by)
				}
			}
		}
	})
}

// TestPropagationNotices what a user would, from where a user would on.
func TestPropagationNotices(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *propagation)
		want   []string
		text   []string // of the findings, in the same order
	}{
		"slow": {func(p *propagation) {
			p.each(func(i int, r *propagated) { p.serve(i, 1100*ms); r.status = 1090 * ms })
			p.serve(7, 9*time.Second)
		}, []string{"slow costly"}, []string{"only 1.1s after it was written (median of 19 routes; the slowest took 9s)"}},
		"not slow yet": {func(p *propagation) {
			p.each(func(i int, r *propagated) { p.serve(i, 990*ms); r.status = 980 * ms })
		}, nil, nil},
		"slow, one never": {func(p *propagation) {
			p.each(func(i int, r *propagated) { p.serve(i, 1100*ms); r.status = 1090 * ms })
			p.routes[7].outcome.Lanes[0].Stable = probe.Interval{}
		}, []string{"never-served broken", "slow costly"}, []string{"1 of 20", "the slowest took over 1m0s"}},
		"only the first route is slow": {func(p *propagation) { p.serve(0, 5*time.Second) }, []string{"first-route info"}, []string{"5s"}},
		"a replica that trails": {func(p *propagation) {
			p.trail("ns/envoy-1", 120*ms)
			p.each(func(_ int, r *propagated) { r.status = 140 * ms })
		},
			[]string{"replica-late notable"}, []string{"1 of 2 replicas take a new route later than the first one: ns/envoy-1 by 120ms (medians)"}},
		"a replica that trails for long": {func(p *propagation) {
			p.trail("ns/envoy-0", 3*time.Second)
			p.each(func(_ int, r *propagated) { r.status = 3 * time.Second })
		},
			[]string{"slow costly", "replica-late costly"}, []string{"only 3.02s", "ns/envoy-0 by 3s"}},
		"a replica that trails a little": {func(p *propagation) {
			p.trail("ns/envoy-1", 60*ms)
			p.each(func(_ int, r *propagated) { r.status = 80 * ms })
		}, nil, nil},
		"a replica that never comes": {func(p *propagation) {
			p.each(func(_ int, r *propagated) {
				r.outcome.Lanes[1].First, r.outcome.Lanes[1].Stable = probe.Interval{}, probe.Interval{}
			})
		}, []string{"never-served broken"}, []string{"20 of 20"}},
		"a status that comes late": {func(p *propagation) { p.each(func(_ int, r *propagated) { r.status = 1200 * ms }) },
			[]string{"status-late notable"}, []string{"only 1.18s after every replica served"}},
		"a status that never comes": {func(p *propagation) {
			for _, i := range []int{3, 5} {
				p.routes[i].status, p.routes[i].lack = -1, "Accepted is False (Full: no more)"
			}
			p.routes[9].status = -1
		}, []string{"not-accepted costly"}, []string{"the status of 3 of 20 valid routes did not say within 1m0s, in the generation that was written, that they are accepted and their references resolved (2× Accepted is False (Full: no more), 1× no status at all)"}},
		"a ceiling, silent": {func(p *propagation) {
			for i := 15; i < 20; i++ {
				p.serve(i, 0)
			}
		}, []string{"never-served broken", "ceiling broken"}, []string{"5 of 20", "no new route was served any more once there were 15: each of the next 5 was waited for 1m0s, while the status of 5 of these said that they were accepted"}},
		"a ceiling, said": {func(p *propagation) {
			for i := 15; i < 20; i++ {
				p.serve(i, 0)
				p.routes[i].status = -1
			}
		}, []string{"never-served broken", "ceiling broken", "not-accepted costly"}, []string{"5 of 20", "and the status of none of these said that it was accepted", "5 of 20"}},
		"a few that are not served": {func(p *propagation) {
			for i := 16; i < 20; i++ {
				p.serve(i, 0)
			}
		}, []string{"never-served broken"}, []string{"4 of 20"}},
		"errors before the write": {func(p *propagation) {
			before := &p.routes[3].outcome.Lanes[1].Before
			*before = probe.Counts{Sent: 9, Old: 6, Errors: map[load.Class]int{load.Status5xx: 2, load.Reset: 1, load.AddressExhausted: 5}, Status: map[int]int{404: 6, 503: 2}}
		}, []string{"errors-at-rest broken"}, []string{"3 of 9 probes for it ended in an error (2× status 503, 1× reset)"}},
		"slow answers": {func(p *propagation) {
			p.routes[4].answers = answers{all: 90, slow: 2, slowest: 800 * ms}
			p.routes[5].answers = answers{all: 10, slowest: 400 * ms}
		}, []string{"slow-answers costly"}, []string{"2 of 100 answers took longer than 500ms, the slowest 800ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := measured(t, 20, nil)
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

// A trial ends where no route is served any more, not one served by some.
func TestPropagationGivesUpOnRoutesThatNobodyServes(t *testing.T) {
	p := measured(t, 20, nil)
	if n := p.unserved(); n != 0 {
		t.Errorf("%d routes are unserved", n)
	}
	for i := 10; i < 20; i++ {
		p.serve(i, 0)
	}
	if n := p.unserved(); n != 10 {
		t.Errorf("%d routes are unserved, want 10", n)
	}
	p.routes[15].outcome.Lanes[3].First = probe.Interval{After: p.routes[15].at, By: p.routes[15].at.Add(ms)}
	if n := p.unserved(); n != 4 {
		t.Errorf("%d routes are unserved, want the 4 after the one that a replica serves", n)
	}
}

func TestAnswersThatTakeLong(t *testing.T) {
	p := measured(t, 1, nil)
	o := p.routes[0].outcome
	o.Lanes[0].Samples = []probe.Sample{
		{Sent: -5 * ms, Received: 700 * ms, Status: 404}, {Sent: ms, Received: 501 * ms, Status: 200}, {Sent: ms, Received: 502 * ms, Status: 200},
		{Sent: ms, Received: time.Second, Class: load.Timeout},
	}
	got := answersOf(o)
	if want := (answers{all: 3, slow: 2, slowest: 705 * ms}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
