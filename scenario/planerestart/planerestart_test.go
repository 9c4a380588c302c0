package planerestart

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
	"github.com/gatemark/gatemark/scenario/stream"
)

const ms = time.Millisecond

// simulated is a trial of some kinds, 2 iterations, events 4 s apart, in which
// nothing is wrong. alter may spoil what was seen of a kind.
func simulated(t *testing.T, names string, alter func(k *kindSeen, hits []stream.Hit) []stream.Hit) *restarts {
	t.Helper()
	r := &restarts{Trial: scenariotest.Trial(t, Scenario, map[string]any{"kinds": names}), generation: 1}
	for _, kind := range chosen(r.Values) {
		k := &kindSeen{kind: kind, planned: 2 * len(kind.steps), began: time.Now(), ready: 500 * ms}
		streams := r.streams(kind.changes)
		for _, fresh := range []bool{false, true} {
			for i := range streams {
				k.lanes = append(k.lanes, stream.Lane{Stream: i, Replica: "address", Fresh: fresh})
			}
		}
		for i := range k.planned {
			t0 := time.Duration(1+4*i) * time.Second
			e := event{step: &kind.steps[i%len(kind.steps)], t0: t0, until: t0 + 3*time.Second, back: time.Second, sockets: 20}
			if kind.changes {
				before := r.answers()
				r.generation++
				e.change = &stream.Change{T0: t0, Before: before, After: r.answersAfter()}
				for lane, l := range k.lanes {
					if l.Stream > 0 {
						e.effects = append(e.effects, stream.Effect{Lane: lane, First: 100 * ms, Good: 100 * ms})
					}
				}
			}
			k.events = append(k.events, e)
		}
		var hits []stream.Hit
		for due := time.Duration(0); due < time.Duration(1+4*k.planned)*time.Second; due += 20 * ms {
			for i, l := range k.lanes {
				hits = append(hits, scenariotest.Answered(i, due, 2*ms, []string{steady, changed, created}[l.Stream], 1, "p"))
			}
		}
		if alter != nil {
			hits = alter(k, hits)
		}
		k.load = stream.Totals{Requests: int64(len(hits))}
		k.take(hits, k.restSockets, streams)
		r.kinds = append(r.kinds, k)
	}
	r.report()
	scenariotest.CheckShape(t, Scenario, r.Result)
	return r
}

func TestNothingToFind(t *testing.T) {
	r := simulated(t, "all", nil)
	scenariotest.CheckFindings(t, r.Result)
	if m := r.Result.Metrics["errors"]; *m.Value != 0 || m.N == 0 || len(m.Warnings) != 1 {
		t.Errorf("errors: %+v", m)
	}
	if rows := r.Result.Tables[0].Rows; len(rows) != 9 || rows[0][0] != control || rows[5][0] != "scale-1-2" {
		t.Errorf("rows %q", rows)
	}
}

// during spoils what lies between an event's beginning and some time later.
func during(at int, from, to time.Duration, spoil func(h *stream.Hit)) func(k *kindSeen, hits []stream.Hit) []stream.Hit {
	return func(k *kindSeen, hits []stream.Hit) []stream.Hit {
		for i := range hits {
			if since := hits[i].Due - k.events[at].t0; k.kind.name != control && since >= from && since < to {
				spoil(&hits[i])
			}
		}
		return hits
	}
}

func refuse(h *stream.Hit) { *h = scenariotest.Refused(h.Lane, h.Due, 2*ms, 503) }

// found is the finding of that name.
func found(t *testing.T, r *restarts, id string) result.Finding {
	t.Helper()
	at := slices.IndexFunc(r.Result.Findings, func(f result.Finding) bool { return f.ID == "plane-restart/"+id })
	if at < 0 {
		t.Fatalf("no finding %s among %+v", id, r.Result.Findings)
	}
	return r.Result.Findings[at]
}

func TestErrorsAtAnEvent(t *testing.T) {
	r := simulated(t, "none,data-restart", during(1, 100*ms, 400*ms, refuse))
	scenariotest.CheckFindings(t, r.Result, "errors-data-restart broken")
	text := found(t, r, "errors-data-restart").Text
	for _, part := range []string{"(2 times)", "users got 30 errors (30× status 503)", "at 1 of 2 events", "15 on kept connections, 15 on new ones", "lasted 280ms", "100 %"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
	if m := r.Result.Metrics["events-with-errors"]; *m.Value != 1 || m.N != 2 {
		t.Errorf("%+v", m)
	}
}

// What is killed may cost a second, and no more.
func TestErrorsOfAKill(t *testing.T) {
	short := simulated(t, "none,data-kill", during(0, 0, 900*ms, refuse))
	scenariotest.CheckFindings(t, short.Result)
	if m := short.Result.Metrics["errors-data-kill"]; *m.Value != 90 {
		t.Errorf("they are counted all the same: %+v", m)
	}
	long := simulated(t, "none,data-kill", during(0, 0, 1200*ms, refuse))
	scenariotest.CheckFindings(t, long.Result, "errors-data-kill broken")
}

func TestOwnFailuresAreNobodysErrors(t *testing.T) {
	r := simulated(t, "none,data-restart", during(0, 0, time.Second, func(h *stream.Hit) { h.Status, h.Class = 0, load.Unsent }))
	scenariotest.CheckFindings(t, r.Result)
}

// Who finds all connections waiting for the gateway does not wait for us.
func TestWhatIsNotSentWhileNobodyAnswers(t *testing.T) {
	n := 0
	r := simulated(t, "none,data-kill", during(0, 0, 2900*ms, func(h *stream.Hit) {
		h.Status, h.Class = 0, load.Unsent
		if n++; n%50 == 0 {
			h.Class = load.Timeout
		}
	}))
	scenariotest.CheckFindings(t, r.Result, "errors-data-kill broken")
	if text := found(t, r, "errors-data-kill").Text; !strings.Contains(text, "the longest row of errors lasted 2.88s") || !strings.Contains(text, "× unsent") {
		t.Error(text)
	}
}

func TestErrorsWithoutAnEvent(t *testing.T) {
	r := simulated(t, "none,control-kill", func(_ *kindSeen, hits []stream.Hit) []stream.Hit {
		for i := range hits {
			if i%50 == 0 {
				refuse(&hits[i])
			}
		}
		return hits
	})
	scenariotest.CheckFindings(t, r.Result, "errors-without-event broken")
}

func TestNewPodsThatServeTooEarly(t *testing.T) {
	ready := time.Now()
	r := simulated(t, "none,scale-1-2-1", func(k *kindSeen, hits []stream.Hit) []stream.Hit {
		if k.kind.name != control {
			k.events[0].replicas = []replica{{name: "ns/new", ready: ready, until: ready.Add(340 * ms), early: map[string]int{"status 404": 17}}}
			k.events[2].replicas = []replica{{name: "ns/other", ready: ready}}
		}
		return hits
	})
	scenariotest.CheckFindings(t, r.Result, "early-scale-1-2 broken")
	if text := found(t, r, "early-scale-1-2").Text; !strings.Contains(text, "1 of 2 new pods were given users") || !strings.Contains(text, "for up to 340ms") || !strings.Contains(text, "17× status 404") {
		t.Error(text)
	}
}

func TestChangesThatWait(t *testing.T) {
	wait := func(good time.Duration, missing string) func(k *kindSeen, hits []stream.Hit) []stream.Hit {
		return func(k *kindSeen, hits []stream.Hit) []stream.Hit {
			for i := range k.events {
				if k.kind.name != control {
					k.events[i].effects[0].Good, k.events[i].lateChange = good, missing
				}
			}
			return hits
		}
	}
	late := simulated(t, "none,control-kill", wait(17*time.Second, ""))
	scenariotest.CheckFindings(t, late.Result, "changes-wait-control-kill costly")
	if text := found(t, late, "changes-wait-control-kill").Text; !strings.Contains(text, "only after 17s (median; 100ms, where nothing happened)") {
		t.Error(text)
	}
	scenariotest.CheckFindings(t, simulated(t, "none,control-kill", wait(-1, "late")).Result, "never-in-force-control-kill broken")
}

func TestAGatewayThatDoesNotComeBack(t *testing.T) {
	r := simulated(t, "none,data-kill", func(k *kindSeen, hits []stream.Hit) []stream.Hit {
		if k.kind.name != control {
			k.events[1].notBack = "0 of 1 pods are ready, and 1 are to be"
		}
		return hits
	})
	scenariotest.CheckFindings(t, r.Result, "never-back-data-kill broken")
	if m := r.Result.Metrics["back-data-kill"]; m.Censored != 1 {
		t.Errorf("%+v", m)
	}
}

// ended has n WebSockets end 200 ms after the first event began, and come back
// 100 ms later.
func ended(n int, how string) func(k *kindSeen, hits []stream.Hit) []stream.Hit {
	return func(k *kindSeen, hits []stream.Hit) []stream.Hit {
		at := k.began.Add(k.events[0].t0 + 200*ms)
		for range n {
			if k.kind.name != control {
				k.restSockets = append(k.restSockets, socketEnd{at: at, last: at.Add(-50 * ms), how: how, back: at.Add(100 * ms)})
			}
		}
		return hits
	}
}

func TestWebSocketsThatEnd(t *testing.T) {
	for kind, want := range map[string][]string{
		"control-restart": {"sockets-control-restart costly"}, // nothing had to end
		"data-restart":    {"sockets-data-restart notable"},
		"data-kill":       nil, // what is killed cannot say goodbye
	} {
		r := simulated(t, "none,"+kind, ended(7, "closed with code 1001"))
		scenariotest.CheckFindings(t, r.Result, want...)
		row := r.Result.Tables[1].Rows[1]
		if row[1] != "33 of 40" || row[2] != "7× closed with code 1001" || row[3] != "200ms" || row[5] != "150ms" {
			t.Errorf("%s: row %q", kind, row)
		}
	}
	scenariotest.CheckFindings(t, simulated(t, "none,data-kill", ended(2, silent)).Result)
	scenariotest.CheckFindings(t, simulated(t, "none,data-restart", ended(2, silent)).Result, "sockets-silent-data-restart costly", "sockets-data-restart notable")
}

func TestKindsThatCannotTakePlace(t *testing.T) {
	r := &restarts{Trial: scenariotest.Trial(t, Scenario, nil)}
	r.Target.DataPlane = scenario.Selector{Namespace: "system", Labels: "app=shared"}
	lacking := func() (all []string) {
		for _, k := range kinds() {
			if r.lacks(k) != "" {
				all = append(all, k.name)
			}
		}
		return all
	}
	if got := lacking(); len(got) != 6 {
		t.Errorf("of a foreign gateway whose planes all share, %q do not take place", got)
	}
	r.Target.DataPlane.Labels = "gateway={{.Name}}"
	if got := lacking(); !slices.Equal(got, []string{"control-restart", "control-kill"}) {
		t.Errorf("of a foreign gateway, %q do not take place", got)
	}
	if r.Installed = true; lacking() != nil {
		t.Errorf("of our own, %q do not take place", lacking())
	}
	r.kinds = []*kindSeen{{kind: kinds()[0]}, {kind: kinds()[1], unsupported: "why"}}
	if outcome, reason := scenario.Outcome(r.unsupported()); outcome != result.Unsupported || !strings.Contains(reason, "control-restart: why") {
		t.Errorf("%s: %s", outcome, reason)
	}
	r.kinds[1].unsupported = ""
	if err := r.unsupported(); err != nil {
		t.Error(err)
	}
}

func TestHowWebSocketsEnd(t *testing.T) {
	for want, err := range map[string]error{
		"closed with code 1012": websocket.CloseError{Code: 1012}, silent: errors.Join(context.DeadlineExceeded, net.ErrClosed),
		"reset": syscall.ECONNRESET, "cut without a close": io.EOF, "broken: odd": errors.New("odd"),
	} {
		if got := howEnded(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestHerd: WebSockets that a server closes are told, and opened anew.
func TestHerd(t *testing.T) {
	rounds := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil || r.Host != "sockets.test" {
			t.Errorf("host %s: %v", r.Host, err)
			return
		}
		for range 3 {
			kind, message, err := c.Read(r.Context())
			if err != nil {
				return
			}
			if err := c.Write(r.Context(), kind, message); err != nil {
				return
			}
		}
		rounds <- struct{}{}
		_ = c.Close(websocket.StatusServiceRestart, "") // the other side may be gone
	}))
	defer server.Close()
	h := &herd{address: server.Listener.Addr().String(), host: "sockets.test", beat: ms, silence: 5 * time.Second}
	h.start(t.Context(), 2)
	for range 4 {
		<-rounds
	}
	for deadline := time.Now().Add(10 * time.Second); len(h.all()) < 4 && time.Now().Before(deadline); {
		time.Sleep(ms)
	}
	h.stop()
	all := h.all()
	if len(all) < 4 || all[0].how != "closed with code 1012" || all[0].back.IsZero() || all[0].last.After(all[0].at) {
		t.Errorf("%+v", all)
	}
}

func TestAReplicaTakesAnswers(t *testing.T) {
	t0 := time.Now()
	at := func(d time.Duration) time.Time { return t0.Add(d) }
	one := &replica{early: map[string]int{}}
	one.take(at(0), at(ms), "status 404", 50*ms) // nobody is sent to it
	one.ready = at(10 * ms)
	one.take(at(5*ms), at(15*ms), "status 404", 50*ms) // asked for before
	one.take(at(20*ms), at(21*ms), "status 404", 50*ms)
	one.take(at(40*ms), at(41*ms), "", 50*ms)
	one.take(at(60*ms), at(61*ms), "status 503", 50*ms)
	one.take(at(80*ms), at(81*ms), "", 50*ms)
	if one.configured {
		t.Error("configured too soon")
	}
	one.take(at(131*ms), at(132*ms), "", 50*ms)
	one.take(at(200*ms), at(201*ms), "status 500", 50*ms) // what users' traffic counts
	if !one.configured || len(one.early) != 2 || one.early["status 404"] != 1 || !one.good.Equal(at(81*ms)) || !one.until.Equal(at(60*ms)) {
		t.Errorf("%+v", one)
	}
}
