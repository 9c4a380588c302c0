package elasticlatency

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario/scenariotest"
	"github.com/gatemark/gatemark/scenario/stream"
)

const ms = time.Millisecond

// simulated is a trial at one rate, 100 requests a second that take 2 ms, of
// which every fifth is on a new connection. spoil may do things to a hit, by the
// event in whose step it was due and how long after it; the event is nil before
// the first.
func simulated(t *testing.T, set map[string]any, spoil func(h *stream.Hit, e *event, since time.Duration)) *elastic {
	t.Helper()
	given := map[string]any{"rates": "100", "step": "4s", "rounds": 2, "kinds": "scale"}
	for name, v := range set {
		given[name] = v
	}
	e := &elastic{Trial: scenariotest.Trial(t, Scenario, given), skipped: map[string]string{}}
	p := &pass{rate: 100, start: lead, zero: lead, began: e.Zero(), lanes: []stream.Lane{{Replica: "a"}, {Replica: "a", Fresh: true}}}
	for _, one := range timeline(e.Values) {
		e.generation++
		p.happenings = append(p.happenings, &happening{event: one, generation: e.generation})
		e.Event(p.began.Add(p.zero+one.at), eventName(one.kind, p.rate), one.title)
	}
	var hits []stream.Hit
	for i := range int((lead + length(e.Values)) / (10 * ms)) {
		due := time.Duration(i) * 10 * ms
		lane := 0
		if i%5 == 0 {
			lane = 1
		}
		// One in 50 takes 4 ms.
		h := scenariotest.Answered(lane, due, 2*ms, name, 0, "echo-1")
		if i%50 == 7 {
			h.Ended += 2 * ms
		}
		var last *event
		for _, e := range p.happenings {
			if due < p.zero+e.at {
				break
			}
			last = &e.event
			if e.route != nil {
				h.Marker.Generation = e.generation
			}
			if since := due - p.zero - e.at; e.shows() && e.route == nil && since >= 500*ms {
				h.Marker.Pod = "echo-for-" + e.at.String()
			}
		}
		if spoil != nil {
			since := due
			if last != nil {
				since = due - p.zero - last.at
			}
			spoil(&h, last, since)
		}
		hits = append(hits, h)
	}
	p.load = stream.Totals{Requests: int64(len(hits))}
	p.take(hits)
	e.passes = append(e.passes, p)
	if err := e.report(); err != nil {
		t.Fatal(err)
	}
	return e
}

// stalled lets all that is due within a time after an instant wait until then.
func stalled(h *stream.Hit, since, from, length time.Duration) {
	if since >= from && since < from+length {
		h.Ended = h.Due + from + length - since + 2*ms
	}
}

func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	e := simulated(t, map[string]any{"kinds": "all"}, nil)
	scenariotest.CheckShape(t, Scenario, e.Result)
	scenariotest.CheckFindings(t, e.Result)
	if m := e.Result.Metrics["in-force-scale-up"]; m.P50 == nil || math.Abs(*m.P50-0.502) > 0.011 {
		t.Errorf("the new pod was first seen: %+v", m)
	}
	for _, g := range e.Result.Gates {
		if !g.OK {
			t.Errorf("gate %+v", g)
		}
	}
	if e.Result.Metrics["errors"].N == 0 || *e.Result.Metrics["highest-spike"].Value != 0 {
		t.Errorf("%+v", e.Result.Metrics)
	}
}

func TestAStallIsMeasured(t *testing.T) {
	e := simulated(t, nil, func(h *stream.Hit, e *event, since time.Duration) {
		if e != nil && e.kind == scaleUp {
			stalled(h, since, 100*ms, 900*ms)
		}
	})
	scenariotest.CheckShape(t, Scenario, e.Result)
	scenariotest.CheckFindings(t, e.Result, "spike-scale-up costly")
	if text := scenariotest.Finding(t, e.Result, "spike-scale-up").Text; !strings.Contains(text, "at 2 of 2 events: the slowest took 902ms") {
		t.Error(text)
	}
	for _, h := range e.passes[0].happenings {
		s := h.after.spike
		if h.kind == scaleDown {
			if s.requests != 0 || h.after.back != 0 {
				t.Errorf("scaling down: %+v", h.after)
			}
			continue
		}
		if s.height != 902*ms || s.length != 902*ms || s.at-e.passes[0].zero-h.at != 100*ms || h.after.back != time.Second {
			t.Errorf("spike %+v, back after %s", s, h.after.back)
		}
		if h.after.slowest[1] != 902*ms || h.after.slowest[0] != 892*ms || h.after.worst < 800*ms {
			t.Errorf("slowest %v, worst 100 ms %s", h.after.slowest, h.after.worst)
		}
	}
}

// A machine that stalls is not the gateway: what we were late ourselves, what
// was so before the event too, and what happened once.
func TestWaitingThatIsNotTheGateways(t *testing.T) {
	for name, spoil := range map[string]func(h *stream.Hit, e *event, since time.Duration){
		"we were late": func(h *stream.Hit, _ *event, since time.Duration) {
			if since >= 100*ms && since < 400*ms {
				h.Sent += 300 * ms
				h.Ended, h.Late = h.Ended+300*ms, 300*ms
			}
		},
		"before it too": func(h *stream.Hit, _ *event, since time.Duration) {
			stalled(h, since, 100*ms, 600*ms)
			stalled(h, since, 3000*ms, 600*ms)
		},
		"once": func(h *stream.Hit, e *event, since time.Duration) {
			if e != nil && e.at == 4*time.Second {
				stalled(h, since, 100*ms, 600*ms)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			scenariotest.CheckFindings(t, simulated(t, nil, spoil).Result)
		})
	}
}

func TestErrorsBelongToEvents(t *testing.T) {
	e := simulated(t, nil, func(h *stream.Hit, e *event, since time.Duration) {
		if e != nil && e.kind == scaleDown && since < 50*ms {
			*h = scenariotest.Refused(h.Lane, h.Due, 2*ms, 503)
		}
	})
	scenariotest.CheckFindings(t, e.Result, "errors-scale-down broken")
	if text := scenariotest.Finding(t, e.Result, "errors-scale-down").Text; !strings.Contains(text, "10 errors (10× status 503)") || !strings.Contains(text, "8 on kept connections, 2 on new ones") {
		t.Error(text)
	}
	every := 0
	e = simulated(t, nil, func(h *stream.Hit, _ *event, _ time.Duration) {
		if every++; every%40 == 0 {
			*h = scenariotest.Refused(h.Lane, h.Due, 2*ms, 503)
		}
	})
	scenariotest.CheckFindings(t, e.Result, "errors-without-event broken")
}

func TestAnEventThatNobodySees(t *testing.T) {
	set := map[string]any{"kinds": "header,restart"}
	none := func(h *stream.Hit, _ *event, _ time.Duration) { h.Marker.Generation, h.Marker.Pod = 0, "echo-1" }
	e := simulated(t, set, none)
	scenariotest.CheckFindings(t, e.Result, "never-in-force-header broken", "never-in-force-back broken", "never-in-force-restart broken")
	// Where the cluster had not carried it out, it is nobody's fault but the step's.
	p := e.passes[0]
	for _, h := range p.happenings {
		h.unsettled = "2 of 3 available"
	}
	e.Result.Gates = nil
	e.gates()
	if g := scenariotest.Gate(t, e.Result, "unsettled-events"); g.OK {
		t.Errorf("%+v", g)
	}
}

func TestASpikeTakesSeveralRequests(t *testing.T) {
	hit := func(due, took time.Duration) stream.Hit {
		return stream.Hit{Due: due, Sent: due, Ended: due + took}
	}
	for _, c := range []struct {
		name   string
		waited []stream.Hit
		want   spike
	}{
		{"none", nil, spike{}},
		{"two", []stream.Hit{hit(0, 500*ms), hit(10*ms, 500*ms)}, spike{}},
		{"three", []stream.Hit{hit(0, 500*ms), hit(10*ms, 400*ms), hit(590*ms, 30*ms)}, spike{0, 500 * ms, 620 * ms, 3}},
		{"two rows, the second higher", []stream.Hit{
			hit(0, 100*ms), hit(10*ms, 90*ms), hit(20*ms, 80*ms), hit(300*ms, 200*ms), hit(310*ms, 190*ms), hit(320*ms, 180*ms),
		}, spike{300 * ms, 200 * ms, 200 * ms, 3}},
	} {
		if got := spikeOf(c.waited); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestTheTimelineFollowsFromTheParameters(t *testing.T) {
	v := scenariotest.Trial(t, Scenario, map[string]any{"step": "30s"}).Values
	var got []string
	for _, e := range timeline(v) {
		got = append(got, e.kind+" "+e.at.String())
	}
	want := []string{
		"scale-up 30s", "scale-down 1m0s", "scale-up 1m30s", "scale-down 2m0s", "scale-up 2m30s", "scale-down 3m0s",
		"cors 3m30s", "header 4m0s", "rewrite 4m30s", "back 5m0s", "restart 5m30s",
		"certificate 6m0s", "gateway-up 6m30s", "gateway-down 7m0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if l := length(v); l != 7*time.Minute+30*time.Second {
		t.Errorf("it takes %s", l)
	}
	// What is not supported leaves its place empty, and is in nothing after it.
	all := timeline(v)
	if s := all[8].route.without(map[string]string{cors: "no"}); s != (shape{Header: true, Rewrite: true}) {
		t.Errorf("%+v", s)
	}
}

// TestWhatShowsAnEvent: each kind by what only it brings.
func TestWhatShowsAnEvent(t *testing.T) {
	known := map[string]bool{"old": true}
	hit := func(pod string, generation int64, certificate string) *stream.Hit {
		return &stream.Hit{Marker: marker.Marker{Route: name, Generation: generation, Pod: pod}, Certificate: certificate}
	}
	for _, c := range []struct {
		name      string
		happening happening
		hit       *stream.Hit
		want      bool
	}{
		{"a new pod", happening{event: event{kind: scaleUp}}, hit("new", 1, ""), true},
		{"an old pod", happening{event: event{kind: scaleUp}}, hit("old", 1, ""), false},
		{"a pod that goes", happening{event: event{kind: scaleDown}}, hit("new", 1, ""), false},
		{"the route's new version", happening{event: event{route: &shape{}}, generation: 2}, hit("old", 2, ""), true},
		{"its old one", happening{event: event{route: &shape{}}, generation: 2}, hit("new", 1, ""), false},
		{"the new certificate", happening{event: event{certificate: true}, serial: "b"}, hit("old", 1, "b"), true},
		{"the old one", happening{event: event{certificate: true}, serial: "b"}, hit("new", 1, "a"), false},
		{"another proxy", happening{event: event{gateway: true}}, hit("new", 1, ""), false},
	} {
		if got := c.happening.shownBy(c.hit, known); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestParameters(t *testing.T) {
	for text, good := range map[string]bool{"100": true, "100, 500": true, "": false, "5": false, "100,100": false, "many": false} {
		problems := Scenario.Check(map[string]any{"rates": text, "kinds": "scale"})
		if (len(problems) == 0) != good {
			t.Errorf("rates %q: %v", text, problems)
		}
	}
	if problems := Scenario.Check(map[string]any{"rates": "100", "kinds": "none"}); len(problems) != 1 {
		t.Errorf("%v", problems)
	}
	v := scenariotest.Trial(t, Scenario, nil).Values
	if d := Scenario.Estimate(v); d < 6*time.Minute || len(Scenario.Writes(v)) == 0 {
		t.Errorf("estimate %s", d)
	}
}

func TestManifests(t *testing.T) {
	e := &elastic{Trial: scenariotest.Trial(t, Scenario, nil)}
	objects, err := e.RenderRoute(e.route(shape{CORS: true, Header: true, Rewrite: true}, 7))
	if err != nil {
		t.Fatal(err)
	}
	route := scenariotest.Typed[gatewayv1.HTTPRoute](t, objects, "HTTPRoute")
	var kinds []string
	for _, f := range route.Spec.Rules[0].Filters {
		kinds = append(kinds, string(f.Type))
	}
	if want := []string{"RequestHeaderModifier", "CORS", "ResponseHeaderModifier", "URLRewrite"}; !slices.Equal(kinds, want) {
		t.Errorf("filters %v, want %v", kinds, want)
	}
	for template, data := range map[string]any{
		"backend": map[string]any{"Namespace": "ns", "EchoImage": "i", "Replicas": 3},
	} {
		if objects, err := e.object(template, data); err != nil || len(objects) == 0 {
			t.Errorf("%s: %d objects, %v", template, len(objects), err)
		}
	}
}

// Every request is in the file, and the picture loses none that would be seen.
func TestEveryRequestIsKept(t *testing.T) {
	e := simulated(t, nil, func(h *stream.Hit, e *event, since time.Duration) {
		if e != nil && since == 0 {
			h.Ended = h.Due + 700*ms
		}
	})
	file := e.Attachments["requests-100.parquet"]
	rows, err := parquet.Read[struct {
		Due   int64  `parquet:"due"`
		Ended int64  `parquet:"ended"`
		Fresh bool   `parquet:"fresh"`
		Pod   string `parquet:"pod"`
	}](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	hits := e.passes[0].hits
	if len(rows) != len(hits) {
		t.Fatalf("%d rows of %d requests", len(rows), len(hits))
	}
	for i, r := range rows {
		if h := hits[i]; r.Due != int64(h.Due) || r.Ended != int64(h.Ended) || r.Fresh != e.passes[0].lanes[h.Lane].Fresh || r.Pod != h.Marker.Pod {
			t.Fatalf("row %d is %+v of %+v", i, r, h)
		}
	}
	slow := 0
	for _, s := range e.Result.Series {
		if c, ok := s.Column("latency"); ok {
			for _, v := range c.Values {
				if v == 0.7 {
					slow++
				}
			}
		}
	}
	if slow != 4 {
		t.Errorf("%d of 4 slow requests are drawn", slow)
	}
}
