package traffic

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// made is a measurement of so many answers in a second, each of which took
// service, on a data plane that used so many CPUs of 16.
func made(p point, direct bool, round int, rate float64, service time.Duration, cores float64) *seen {
	well := &load.ClassCount{Count: int64(rate), Latency: load.NewHistogram(), Service: load.NewHistogram()}
	for range int(rate) {
		well.Latency.Record(int64(service))
		well.Service.Record(int64(service))
	}
	counts := load.Counts{Classes: map[load.Class]*load.ClassCount{load.OK: well}}
	one := &seen{turn{p, direct, round}, &attack.Seen{Counts: counts, Sent: int64(rate), Received: attack.Arrivals{Accepted: int64(p.connections), Requests: int64(rate)}, Use: attack.UnknownUse()}}
	one.Result = &load.Result{Requests: int64(rate), AchievedRate: rate, Seconds: 1, OpenLoop: p.rate > 0, Verdict: load.Valid,
		Errors: counts.Errors(), Latency: well.Latency.Summary(), ServiceTime: well.Service.Summary()}
	one.Use.DataPlane, one.Use.Attackers, one.Use.Backends, one.Use.Rest = cores, 1, 1, 0.5
	one.Use.All, one.Use.Memory, one.Use.Seconds = cores+2.5, 1<<20, 1
	return one
}

// fail makes so many of a measurement's requests end otherwise.
func (one *seen) fail(class load.Class, n int64) *seen {
	one.Counts.Classes[class] = &load.ClassCount{Count: n}
	one.Counts.Classes[load.OK].Count -= n
	one.Result.Errors = one.Counts.Errors()
	return one
}

// trial is one that has seen those, on a machine with 16 CPUs.
func trial(t *testing.T, all ...*seen) *traffic {
	t.Helper()
	tr := &traffic{Place: &attack.Place{Trial: scenariotest.Trial(t, Scenario, nil), CPUs: 16, BackendNodes: 1, Backends: []string{"b"}}, seen: all}
	tr.Meter = meter{}
	for _, one := range all {
		if !one.direct && one.round == 0 {
			tr.points = append(tr.points, one.point)
		}
	}
	tr.report()
	scenariotest.CheckFigures(t, tr.Result)
	return tr
}

// A meter is there, and is not asked.
type meter struct{ scenario.Meter }

var (
	one   = point{connections: 1}
	many  = point{connections: 16}
	most  = point{connections: 1024}
	fixed = point{connections: 16, rate: 500}
)

const µs = time.Microsecond

func TestNothingIsFound(t *testing.T) {
	tr := trial(t,
		made(one, false, 0, 3000, 300*µs, 0.5), made(one, true, 0, 9000, 100*µs, 0), made(many, false, 0, 20000, 800*µs, 4), made(many, true, 0, 60000, 200*µs, 0),
		made(most, false, 0, 19500, 50*time.Millisecond, 4), made(most, true, 0, 60000, 20*time.Millisecond, 0), made(fixed, false, 0, 500, 300*µs, 0.1), made(fixed, true, 0, 500, 100*µs, 0),
	)
	scenariotest.CheckFindings(t, tr.Result)
	scenariotest.CheckShape(t, Scenario, tr.Result)
	for name, want := range map[string]float64{"max-throughput": 20000, "knee": 16, "errors": 0, "cpu-per-million": 200, "throughput-c1024": 19500, "cpu-attackers-c16": 50, "requests-sent": 43000} {
		if m := tr.Result.Metrics[name]; m.Value == nil || *m.Value != want {
			t.Errorf("%s: %+v, want %v", name, m, want)
		}
	}
	want := []string{"fake", "0", "16", "2", "0", "20000.00qps", "0.800ms", "0.800ms", "0.800ms"}
	if diff := cmp.Diff(want, tr.Result.Tables[2].Rows[2]); diff != "" {
		t.Errorf("raw row (-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	failing := func(direct int64) *traffic {
		return trial(t, made(fixed, false, 0, 500, 300*µs, 0.1).fail(load.Status5xx, 5), made(fixed, true, 0, 500, 100*µs, 0).fail(load.Status5xx, direct))
	}
	tr := failing(0)
	scenariotest.CheckFindings(t, tr.Result, "errors broken")
	if f := scenariotest.Finding(t, tr.Result, "errors"); !strings.Contains(f.Text, "5 of 500 requests through the gateway failed (5× status 5xx)") {
		t.Error(f.Text)
	}
	scenariotest.CheckFindings(t, failing(5).Result) // the backend's own
	ours := trial(t, made(fixed, false, 0, 500, 300*µs, 0.1).fail(load.Unsent, 5), made(fixed, true, 0, 500, 100*µs, 0))
	scenariotest.CheckFindings(t, ours.Result)
}

func TestConnections(t *testing.T) {
	gateway := made(fixed, false, 0, 500, 300*µs, 0.1)
	gateway.Received.Accepted = 500
	scenariotest.CheckFindings(t, trial(t, gateway, made(fixed, true, 0, 500, 100*µs, 0)).Result, "connection-per-request costly")
}

// Slow in one round of two was the machine.
func TestSlow(t *testing.T) {
	rounds := func(first, second time.Duration) *traffic {
		return trial(t, made(fixed, false, 0, 500, first, 0.1), made(fixed, true, 0, 500, 100*µs, 0), made(fixed, false, 1, 500, second, 0.1), made(fixed, true, 1, 500, 100*µs, 0))
	}
	scenariotest.CheckFindings(t, rounds(3*time.Millisecond, 4*time.Millisecond).Result, "slow costly")
	scenariotest.CheckFindings(t, rounds(300*µs, 4*time.Millisecond).Result)
	// A quieter point that is no evidence is not looked at.
	late := made(fixed, false, 0, 500, 300*µs, 0.1)
	late.Result.Verdict = load.AttackerLimited
	scenariotest.CheckFindings(t, trial(t, late, made(fixed, true, 0, 500, 100*µs, 0), made(one, false, 0, 200, 5*time.Millisecond, 0.5), made(one, true, 0, 9000, 100*µs, 0)).Result, "slow costly")
}

// What more connections cost the direct path as well is not the gateway's.
func TestDegrades(t *testing.T) {
	lasting := func(gateway, direct float64) *traffic {
		return trial(t, made(many, false, 0, 10000, 800*µs, 4), made(many, true, 0, 30000, 200*µs, 0), made(most, false, 0, gateway, time.Millisecond, 4), made(most, true, 0, direct, time.Millisecond, 0))
	}
	scenariotest.CheckFindings(t, lasting(5000, 30000).Result, "degrades costly")
	scenariotest.CheckFindings(t, lasting(8000, 30000).Result)
	scenariotest.CheckFindings(t, lasting(5000, 16000).Result)
}

func TestOneCore(t *testing.T) {
	using := func(cores, rate float64, cpus int) *traffic {
		tr := &traffic{Place: &attack.Place{Trial: scenariotest.Trial(t, Scenario, nil), CPUs: cpus}, points: []point{many, most}}
		tr.Meter = meter{}
		tr.seen = []*seen{made(many, false, 0, 10000, time.Millisecond, 1), made(most, false, 0, rate, time.Millisecond, cores)}
		tr.judge0()
		tr.findOneCore()
		return tr
	}
	scenariotest.CheckFindings(t, using(1.05, 10500, 16).Result, "one-core costly")
	scenariotest.CheckFindings(t, using(2, 20000, 16).Result)
	scenariotest.CheckFindings(t, using(1.05, 10500, 4).Result) // nothing was idle
	small := using(1.05, 10500, 2)
	scenariotest.CheckFindings(t, small.Result)
	if len(small.Result.Notes) != 1 || !strings.Contains(small.Result.Notes[0], "cannot be told on 2 CPUs") {
		t.Errorf("notes %q", small.Result.Notes)
	}
}

// judge0 takes all for the gateway's own.
func (t *traffic) judge0() {
	for _, one := range t.seen {
		one.Verdict = attack.Fine
	}
}

func TestVerdicts(t *testing.T) {
	limited := made(fixed, false, 0, 500, 300*µs, 0.1)
	limited.Result.Verdict, limited.Result.Reasons = load.AttackerLimited, []string{"late"}
	queueing := made(many, false, 0, 450, 300*µs, 0.1) // as of a fixed rate
	queueing.point.rate = 1000
	queueing.Result.Verdict = load.BackendLimited
	busy := made(most, false, 0, 30000, time.Millisecond, 1)
	busy.Use.Backends = 14
	tr := trial(t,
		limited, made(fixed, true, 0, 500, 100*µs, 0), queueing, made(queueing.point, true, 0, 1000, 100*µs, 0), busy, made(most, true, 0, 60000, time.Millisecond, 0),
		made(one, false, 0, 9500, 300*µs, 0.5), made(one, true, 0, 10000, 100*µs, 0),
	)
	var got []attack.Verdict
	for _, one := range tr.seen {
		if !one.direct {
			got = append(got, one.Verdict)
		}
	}
	if diff := cmp.Diff([]attack.Verdict{attack.AttackerLimited, attack.NotCarried, attack.BackendLimited, attack.DirectSaturated}, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if g := scenariotest.Gate(t, tr.Result, "doubtful-measurements"); g.OK || g.Value != 0.75 {
		t.Errorf("gate %+v", g)
	}
	if table := tr.Result.Tables[3]; len(table.Rows) != 4 {
		t.Errorf("reasons %q", table.Rows)
	}
	stolen := made(fixed, false, 0, 500, 300*µs, 0.1)
	stolen.Result.Self.Steal = 0.2
	if trial(t, stolen, made(fixed, true, 0, 500, 100*µs, 0)); stolen.Verdict != attack.MachineLimited {
		t.Errorf("verdict %s", stolen.Verdict)
	}
	// A fixed rate that the direct path did not carry says nothing.
	direct := made(queueing.point, true, 0, 400, 100*µs, 0)
	direct.Result.Verdict = load.BackendLimited
	if tr := trial(t, queueing, direct); queueing.Verdict != attack.DirectSaturated || tr.Result.Gates[len(tr.Result.Gates)-1].OK {
		t.Errorf("verdict %s", queueing.Verdict)
	}
}

// A round that is no evidence is left out where another is.
func TestADoubtfulRoundIsLeftOut(t *testing.T) {
	bad := made(many, false, 1, 100, time.Millisecond, 1)
	bad.Result.Verdict = load.AttackerLimited
	tr := trial(t, made(many, false, 0, 10000, time.Millisecond, 1), made(many, true, 0, 30000, time.Millisecond, 0), bad, made(many, true, 1, 30000, time.Millisecond, 0))
	if m := tr.Result.Metrics["throughput-c16"]; *m.Value != 10000 || m.N != 1 || m.Warnings != nil {
		t.Errorf("%+v", m)
	}
}

func TestParameters(t *testing.T) {
	for text, want := range map[string]string{
		"": `"" is not a number`, "1,x": `"x" is not a number`, "1,1": "1 is there twice", "0": "0 is not between 1 and 100", "101": "101 is not between 1 and 100", "max": `"max" is not a number`,
	} {
		if _, err := numbers(text, 1, 100, false); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if problems := check(map[string]any{"connections": "1,8", "rates": "max,100", "payloads": "0", "attackers": 2}); len(problems) != 1 {
		t.Errorf("an attacker without a connection: %v", problems)
	}
	points := pointsOf(scenario.Values{"connections": "1,16", "rates": "max,15000", "payloads": "0,4096"}, 2.0/16)
	if len(points) != 8 || points[2] != (point{1, 1875, 0}) || points[7].key() != "c16-b4096-r1875" {
		t.Errorf("%v", points)
	}
}

func TestTurns(t *testing.T) {
	tr := &traffic{Place: &attack.Place{Trial: scenariotest.Trial(t, Scenario, map[string]any{"rounds": 3})}, points: []point{one, many, most, fixed}}
	turns := tr.turns()
	orders := map[string]bool{}
	for round := range 3 {
		each := map[turn]bool{}
		order := ""
		for _, w := range turns[8*round : 8*(round+1)] {
			if w.round != round {
				t.Errorf("%+v in round %d", w, round)
			}
			each[w] = true
			order += w.point.key() + way(w.direct)
		}
		if len(each) != 8 {
			t.Errorf("round %d has %d different measurements", round, len(each))
		}
		orders[order] = true
	}
	if len(orders) < 2 {
		t.Error("every round has the same order")
	}
	if diff := cmp.Diff(turns, tr.turns(), cmp.AllowUnexported(turn{}, point{})); diff != "" {
		t.Errorf("the same trial again:\n%s", diff)
	}
}
