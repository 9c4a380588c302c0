package addedlatency

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario/attack"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

const µs = time.Microsecond

// made is a measurement of 200 answers, each of which took about so long.
func made(block int, w way, latency time.Duration) *seen {
	well := &load.ClassCount{Count: 200, Latency: load.NewHistogram(), Service: load.NewHistogram()}
	for i := range 200 {
		ns := int64(latency) + int64(i+7*block)*100
		well.Latency.Record(ns)
		well.Service.Record(ns)
	}
	counts := load.Counts{Classes: map[load.Class]*load.ClassCount{load.OK: well}, InTime: 200}
	connect := load.NewHistogram()
	connect.Record(int64(40 * µs))
	one := &attack.Seen{Sent: 240, Received: attack.Arrivals{Accepted: 8, Requests: 240}, Use: attack.UnknownUse()}
	one.Result = &load.Result{Requests: 200, AchievedRate: 200, Seconds: 1, OpenLoop: true, Verdict: load.Valid, Errors: counts.Errors(),
		Latency: well.Latency.Summary(), ServiceTime: well.Service.Summary(), Connect: connect.Summary(), ConnectTimes: connect,
		Slices: []*load.Slice{{Counts: counts}}}
	return &seen{block: block, way: w, Seen: one}
}

// fail makes so many of a measurement's requests end otherwise.
func (one *seen) fail(class load.Class, n int64) *seen {
	counts := &one.Result.Slices[0].Counts
	counts.Classes[class] = &load.ClassCount{Count: n}
	counts.Classes[load.OK].Count -= n
	one.Result.Errors = counts.Errors()
	return one
}

// blocksOf are so many blocks with a gateway that adds so much.
func blocksOf(n int, adds time.Duration) []*seen {
	var all []*seen
	for i := range n {
		all = append(all, made(i, gateway, 300*µs+adds+time.Duration(i%3)*µs), made(i, direct, 300*µs), made(i, directAgain, 300*µs+time.Duration(i%4-1)*µs))
	}
	return all
}

// reported is a trial that has seen those.
func reported(t *testing.T, all []*seen) *trial {
	t.Helper()
	tr := &trial{Place: &attack.Place{Trial: scenariotest.Trial(t, Scenario, nil), CPUs: 2, BackendNodes: 1, Backends: []string{"b"}}, rate: 200, seen: all}
	tr.upstream = &echo{tr}
	tr.report()
	scenariotest.CheckFigures(t, tr.Result)
	return tr
}

func TestNothingIsFound(t *testing.T) {
	tr := reported(t, blocksOf(12, 400*µs))
	scenariotest.CheckFindings(t, tr.Result)
	scenariotest.CheckShape(t, Scenario, tr.Result)
	m := tr.Result.Metrics["added-p50"]
	if *m.Value < 390e-6 || *m.Value > 410e-6 || *m.Lo > *m.Value || *m.Hi < *m.Value || m.N != 12 || m.Resolution <= 0 || m.Warnings != nil {
		t.Errorf("added-p50 is %+v", m)
	}
	if m := tr.Result.Metrics["requests-sent"]; *m.Value != 12*240 {
		t.Errorf("requests-sent is %+v", m)
	}
	if n := tr.Result.Metrics["latency-direct"].N; n != 12*400 {
		t.Errorf("%d requests on the direct path", n)
	}
	if !slicesContain(tr.Result.Notes, "A TCP connection to the gateway took 40µs") {
		t.Errorf("notes %q", tr.Result.Notes)
	}
}

func slicesContain(all []string, part string) bool {
	return strings.Contains(strings.Join(all, "\n"), part)
}

func TestWhatIsAdded(t *testing.T) {
	scenariotest.CheckFindings(t, reported(t, blocksOf(12, 3*time.Millisecond)).Result, "added-p50 notable")
	scenariotest.CheckFindings(t, reported(t, blocksOf(12, 12*time.Millisecond)).Result, "added-p50 costly", "added-p99 notable")
	tr := reported(t, blocksOf(12, 60*time.Millisecond))
	scenariotest.CheckFindings(t, tr.Result, "added-p50 costly", "added-p99 costly")
	if f := scenariotest.Finding(t, tr.Result, "added-p50"); !strings.Contains(f.Text, "at 200 requests/s the gateway adds 60.01ms to the typical answer (p50)") {
		t.Error(f.Text)
	}
	// Too few blocks for an interval say nothing.
	few := reported(t, blocksOf(5, 60*time.Millisecond))
	scenariotest.CheckFindings(t, few.Result)
	if m := few.Result.Metrics["added-p50"]; m.Lo != nil || len(m.Warnings) == 0 {
		t.Errorf("%+v", m)
	}
}

func TestNoDifferenceIsAnAnswer(t *testing.T) {
	tr := reported(t, blocksOf(12, -1*µs))
	if m := tr.Result.Metrics["added-p50"]; !cmp.Equal(m.Warnings, []string{"no difference shown"}) {
		t.Errorf("%+v", m)
	}
	if row := tr.Result.Tables[0].Rows[0]; row[0] != "p50" || row[6] != "no difference shown" {
		t.Errorf("row %q", row)
	}
}

func TestErrors(t *testing.T) {
	all := blocksOf(8, 400*µs)
	all[0].fail(load.Status5xx, 5)
	tr := reported(t, all)
	scenariotest.CheckFindings(t, tr.Result, "errors broken")
	if f := scenariotest.Finding(t, tr.Result, "errors"); !strings.Contains(f.Text, "5 of 1600 requests through the gateway failed (5× status 5xx)") {
		t.Error(f.Text)
	}
	all[1].fail(load.Status5xx, 5)
	all[2].fail(load.Status5xx, 5)
	scenariotest.CheckFindings(t, reported(t, all).Result) // the backend's own
	ours := blocksOf(8, 400*µs)
	ours[0].fail(load.Unsent, 5)
	scenariotest.CheckFindings(t, reported(t, ours).Result)
}

// A block is evidence as a whole, or not at all.
func TestBlocksThatAreNoEvidence(t *testing.T) {
	all := blocksOf(12, 400*µs)
	busy := func(one *seen) { one.Result.Verdict, one.Result.Self.BusiestLoop = load.AttackerLimited, 0.9 }
	busy(all[0])                                                // block 1
	all[4].Result.Self.Steal = 0.2                              // block 2, direct
	all[6].Result.Verdict = load.AttackerLimited                // block 3: late alone
	all[9].Result.ServiceTime, all[9].Result.Latency = nil, nil // block 4: all failed
	tr := reported(t, all)
	var got []attack.Verdict
	for _, b := range tr.judged() {
		got = append(got, b.verdict)
	}
	want := []attack.Verdict{attack.AttackerLimited, attack.MachineLimited, attack.Fine, nothingAnswered}
	if diff := cmp.Diff(want, got[:4]); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if m := tr.Result.Metrics["added-p50"]; m.N != 9 {
		t.Errorf("%d blocks count", m.N)
	}
	if g := scenariotest.Gate(t, tr.Result, "doubtful-measurements"); !g.OK || g.Value != 0.25 {
		t.Errorf("gate %+v", g)
	}
	for _, one := range all {
		busy(one)
	}
	nothing := reported(t, all)
	scenariotest.CheckFindings(t, nothing.Result)
	if g := scenariotest.Gate(t, nothing.Result, "doubtful-measurements"); g.OK {
		t.Errorf("gate %+v", g)
	}
}

// A rate that is not carried is seen over all measurements, not in one that is
// short.
func TestARateThatIsNotCarried(t *testing.T) {
	short := func(w way, n int64) *trial {
		all := blocksOf(8, 400*µs)
		for _, one := range all {
			if one.way == w {
				one.Result.Slices[0].InTime -= n
			}
		}
		return reported(t, all)
	}
	if tr := short(gateway, 1); tr.judged()[0].verdict != attack.Fine {
		t.Errorf("1 of 200: %s", tr.judged()[0].verdict)
	}
	if tr := short(gateway, 5); tr.judged()[0].verdict != attack.NotCarried || tr.Result.Metrics["added-p50"].N != 8 {
		t.Errorf("5 of 200: %s", tr.judged()[0].verdict)
	}
	if tr := short(direct, 9); tr.judged()[0].verdict != attack.DirectSaturated || scenariotest.Gate(t, tr.Result, "doubtful-measurements").OK {
		t.Errorf("5 of 200 on the direct path: %s", tr.judged()[0].verdict)
	}
}

// Where requests wait for a connection, the wait counts.
func TestTheQueueCounts(t *testing.T) {
	all := blocksOf(8, 400*µs)
	for _, one := range all {
		if one.way == gateway {
			one.Result.Slices[0].Queued = 20
			one.Result.Latency = made(one.block, gateway, 20*time.Millisecond).Result.Latency
		}
	}
	scenariotest.CheckFindings(t, reported(t, all).Result, "added-p50 costly", "added-p99 notable")
}

// attacked measures a proxy before gatemark's backend, which does something to each request.
func attacked(t *testing.T, before func()) *trial {
	t.Helper()
	backend := scenariotest.Backend(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	handler := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: backend})
	handler.Transport = transport
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	tr := &trial{
		Place: &attack.Place{
			Trial: scenariotest.Trial(t, Scenario, map[string]any{"blocks": 2, "warmup": "50ms", "duration": "250ms", "payload": 10}),
			CPUs:  2, Gateway: proxy.Listener.Addr().String(), Backends: []string{backend}, BackendNodes: 1, Attackers: &scenariotest.Attackers{},
		},
		rate: 100,
	}
	tr.upstream = &echo{tr}
	if err := tr.measureAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	tr.report()
	return tr
}

// What is counted here and there agrees, and no answer comes before the proxy
// gives it.
func TestAProxyThatWaits(t *testing.T) {
	const waits = 50 * time.Millisecond
	var passed atomic.Int64
	tr := attacked(t, func() {
		passed.Add(1)
		time.Sleep(waits)
	})
	if m := tr.Result.Metrics["requests-sent"]; *m.Value != float64(passed.Load()) || *m.Value == 0 {
		t.Errorf("requests-sent is %v, the proxy counted %d", *m.Value, passed.Load())
	}
	for _, one := range tr.seen {
		if one.Sent != one.Received.Requests || len(one.Result.Errors) > 0 || one.Result.Requests != 25 {
			t.Errorf("block %d, %s: sent %d, received %d, errors %v, %d requests", one.block, one.way, one.Sent, one.Received.Requests, one.Result.Errors, one.Result.Requests)
		}
		if one.way == gateway && one.Result.ServiceTime.Min < waits.Seconds() {
			t.Errorf("block %d: an answer of the gateway came after %g s", one.block, one.Result.Latency.Min)
		}
	}
	if tr.Result.Tables[0].Rows[0][6] == "" {
		t.Errorf("table %q", tr.Result.Tables[0].Rows)
	}
	scenariotest.CheckFigures(t, tr.Result)
}

// Each block has every way once, in an order that changes and can be repeated.
func TestOrder(t *testing.T) {
	order := func() (all []string) {
		tr := &trial{Place: &attack.Place{Trial: scenariotest.Trial(t, Scenario, map[string]any{"blocks": 10})}}
		for _, block := range tr.orders() {
			text := ""
			for _, w := range block {
				text += string(w) + " "
			}
			all = append(all, text)
		}
		return all
	}
	first := order()
	if diff := cmp.Diff(first, order()); diff != "" {
		t.Errorf("the same trial again:\n%s", diff)
	}
	different := map[string]bool{}
	for _, text := range first {
		different[text] = true
		if len(strings.Fields(text)) != 4 {
			t.Errorf("block %q", text)
		}
	}
	if len(different) < 3 {
		t.Errorf("only %d orders: %q", len(different), first)
	}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		values map[string]any
		want   int
	}{
		{map[string]any{"connections": 8, "attackers": 2, "rate": 200, "duration": time.Second, "ratesFor": 0}, 0},
		{map[string]any{"connections": 1, "attackers": 2, "rate": 200, "duration": time.Second, "ratesFor": 0}, 1},
		{map[string]any{"connections": 8, "attackers": 1, "rate": 50, "duration": time.Second, "ratesFor": 0}, 1},
		{map[string]any{"connections": 8, "attackers": 1, "rate": 50, "duration": time.Second, "ratesFor": 1}, 0},
	} {
		if problems := check(c.values); len(problems) != c.want {
			t.Errorf("%v: %v", c.values, problems)
		}
	}
}
