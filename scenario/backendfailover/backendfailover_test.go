package backendfailover

import (
	"math"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario/scenariotest"
	"github.com/gatemark/gatemark/scenario/stream"
)

const ms = time.Millisecond

// A policy is what a simulated gateway does: whether a request in its turn to
// the victim goes there, at an instant since the outage began, which lasts
// period; negative before the first.
type policy struct {
	uses func(since time.Duration) bool
	// hides: a request that fails there is sent to another one, unseen.
	hides bool
	// unasked is how many requests a second each backend gets by itself, which
	// fail as others do.
	unasked time.Duration
}

const period = 4 * time.Second

// simulated is a trial of one way to fail, 2 outages of 4 s: 100 requests a
// second, of which each fourth is the victim's in turn.
func simulated(t *testing.T, way string, set map[string]any, p policy) *failover {
	t.Helper()
	given := map[string]any{"kinds": way, "period": period.String(), "cycles": 2}
	for name, v := range set {
		given[name] = v
	}
	f := &failover{Trial: scenariotest.Trial(t, Scenario, given)}
	k := &kindSeen{kind: chosen(f.Values)[0], paths: f.paths(), timeout: time.Second, quiet: time.Second, victim: "victim", began: f.Zero(), ready: time.Second,
		lanes: []stream.Lane{{Replica: "a"}}}
	var applied, requests, asked int64
	var hits []stream.Hit
	now := func() counters {
		c := counters{Requests: requests, Applied: map[string]int64{k.kind.counts: applied}}
		c.Health.Requests = asked
		return c
	}
	first := 2 * time.Second
	end := first + 4*period
	o := &outage{}
	for due := time.Duration(0); due < end; due += 10 * ms {
		since := due - first
		fails := since >= 0 && since%(2*period) < period
		if since >= 0 && since%(2*period) == 0 {
			k.outages = append(k.outages, outage{from: due, until: due + period, next: due + 2*period, before: now()})
			o = &k.outages[len(k.outages)-1]
			f.Event(k.began.Add(due), "fails: "+way, "victim")
		}
		if since >= 0 && since%(2*period) == period {
			o.after = now()
			f.Event(k.began.Add(due), "is well again: "+way, "victim")
		}
		if p.unasked > 0 && since >= 0 && since%(time.Second/p.unasked) == 0 {
			if asked++; fails && !k.kind.leaves {
				applied++
			}
		}
		inTurn := int(due/(10*ms))%4 == 1
		if since >= 0 {
			since %= 2 * period
		}
		if due%(40*ms) == 0 {
			k.samples = append(k.samples, sample{due, now()})
		}
		if !inTurn || !p.uses(since) {
			hits = append(hits, scenariotest.Answered(0, due, 2*ms, "failover-1-1", 1, "other"))
			continue
		}
		requests++
		switch {
		case fails && !k.kind.leaves && p.hides:
			applied++
			hits = append(hits, scenariotest.Answered(0, due, 4*ms, "failover-1-1", 1, "other"))
		case fails && !k.kind.leaves:
			applied++
			h := scenariotest.Refused(0, due, 2*ms, 503)
			h.Marker.Pod = "victim"
			hits = append(hits, h)
		default:
			hits = append(hits, scenariotest.Answered(0, due, 2*ms, "failover-1-1", 1, "victim"))
		}
	}
	k.load = stream.Totals{Requests: int64(len(hits))}
	k.before, k.after, k.counted = map[string]counters{"victim": {}}, map[string]counters{"victim": now()}, 4*period
	k.take(hits)
	f.kinds = append(f.kinds, k)
	if err := f.report(); err != nil {
		t.Fatal(err)
	}
	scenariotest.CheckShape(t, Scenario, f.Result)
	return f
}

func always(time.Duration) bool { return true }

// evicted uses the victim for a while after an outage began, and not again until
// some time after that began.
func evicted(after, until time.Duration) func(time.Duration) bool {
	return func(since time.Duration) bool { return since < after || since >= until }
}

func TestAGatewayThatDoesNothing(t *testing.T) {
	f := simulated(t, "503", nil, policy{uses: always})
	scenariotest.CheckFindings(t, f.Result)
	k := f.kinds[0]
	for i, o := range k.outages {
		if o.failing != 100 || o.errors["status 503"] != 100 || o.requests != 400 || o.shed >= 0 || o.back != 12*ms {
			t.Errorf("outage %d: %+v", i, o)
		}
	}
	if k.masked() != 0 || len(k.restErrors) != 0 {
		t.Errorf("%d masked, errors at rest %v", k.masked(), k.restErrors)
	}
	if m := f.Result.Metrics["shed-503"]; m.Censored != 2 {
		t.Errorf("%+v", m)
	}
}

func TestEviction(t *testing.T) {
	// Evicted after 200 ms, used again 1.5 s after the outage is over.
	f := simulated(t, "503", nil, policy{uses: evicted(200*ms, 5500*ms)})
	scenariotest.CheckFindings(t, f.Result, "slow-return-503 costly")
	for i, o := range f.kinds[0].outages {
		if o.failing != 5 || math.Abs((o.shed-170*ms).Seconds()) > 0.041 || o.back != 1532*ms {
			t.Errorf("outage %d: %+v", i, o)
		}
	}
}

func TestRetriesThatMask(t *testing.T) {
	f := simulated(t, "503", nil, policy{uses: always, hides: true})
	scenariotest.CheckFindings(t, f.Result, "masks-503 notable")
	if text := scenariotest.Finding(t, f.Result, "masks-503").Text; !strings.Contains(text, "200 failed at the backend, by its own count, and users saw 0 errors in 800 requests") {
		t.Error(text)
	}
	// Where routes ask for it, that is what they want.
	with := map[string]any{"policy": retries}
	scenariotest.CheckFindings(t, simulated(t, "503", with, policy{uses: always, hides: true}).Result)
	scenariotest.CheckFindings(t, simulated(t, "503", with, policy{uses: always}).Result, "retries-fail-503 costly")
}

func TestAnEndpointThatIsNone(t *testing.T) {
	at := func(d time.Duration) policy { return policy{uses: evicted(d, period)} }
	scenariotest.CheckFindings(t, simulated(t, "removed", nil, at(200*ms)).Result)
	f := simulated(t, "removed", nil, at(1500*ms))
	scenariotest.CheckFindings(t, f.Result, "still-used-removed costly")
	if o := f.kinds[0].outages[0]; o.shed != 1490*ms || o.failing != 38 {
		t.Errorf("%+v", o)
	}
}

func TestHealthChecksThatNobodyAskedFor(t *testing.T) {
	f := simulated(t, "503", nil, policy{uses: evicted(200*ms, period), unasked: 50})
	scenariotest.CheckFindings(t, f.Result, "asks-backends notable")
	if v := *f.Result.Metrics["unasked-503"].Value; v != 50 {
		t.Errorf("%v/s", v)
	}
	// They are no requests of users, and keep nobody from seeing that these
	// stopped.
	for i, o := range f.kinds[0].outages {
		if o.failing != 5 || math.Abs((o.shed-170*ms).Seconds()) > 0.041 {
			t.Errorf("outage %d: %+v", i, o)
		}
	}
}

func TestErrorsWhileAllIsWell(t *testing.T) {
	k := &kindSeen{kind: &kind{name: "503", counts: "status"}, victim: "victim", outages: []outage{{from: time.Second, until: 2 * time.Second, next: 3 * time.Second}}}
	k.take([]stream.Hit{
		scenariotest.Refused(0, 500*ms, ms, 503), scenariotest.Refused(0, 1500*ms, ms, 503), scenariotest.Refused(0, 2500*ms, ms, 500),
		{Due: 2600 * ms, Sent: -1, Ended: 2600 * ms, Class: load.Unsent},
	})
	if k.restRequests != 2 || k.restErrors["status 503"] != 1 || k.restErrors["status 500"] != 1 || k.outages[0].requests != 1 {
		t.Errorf("%d requests, errors %v; in the outage %+v", k.restRequests, k.restErrors, k.outages[0])
	}
}

func TestShed(t *testing.T) {
	for _, c := range []struct {
		name     string
		arrivals []time.Duration
		want     time.Duration
	}{
		{"none came", nil, 0},
		{"they never stopped", []time.Duration{10900 * ms, 11800 * ms, 12700 * ms, 13600 * ms}, -1},
		{"they stopped", []time.Duration{10100 * ms, 10300 * ms}, 300 * ms},
		{"they stopped and came again", []time.Duration{10100 * ms, 10300 * ms, 12 * time.Second}, 300 * ms},
		{"the end came too soon to tell", []time.Duration{10900 * ms, 11800 * ms, 12700 * ms, 13500 * ms}, -1},
	} {
		if got := shed(c.arrivals, 10*time.Second, 14*time.Second, time.Second); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestManifests(t *testing.T) {
	f := &failover{Trial: scenariotest.Trial(t, Scenario, map[string]any{"policy": retries, "paths": 3})}
	objects, err := f.object("route", f.route(7))
	if err != nil {
		t.Fatal(err)
	}
	route := scenariotest.Typed[gatewayv1.HTTPRoute](t, objects, "HTTPRoute")
	if len(route.Spec.Rules) != 3 || *route.Spec.Rules[2].Matches[0].Path.Value != "/r7/p2" || *route.Spec.Rules[2].Retry.Attempts != retryAttempts {
		t.Errorf("%+v", route.Spec.Rules)
	}
	if objects, err := f.object("backend", map[string]any{"Namespace": "ns", "EchoImage": "i", "Replicas": 4}); err != nil || len(objects) != 3 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	if got := f.path(); got != "/r{0..15}/p{0..2}" {
		t.Error(got)
	}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		set map[string]any
		bad int
	}{
		{map[string]any{"kinds": "all"}, 0}, {map[string]any{"kinds": "503,hang"}, 0}, {map[string]any{"kinds": "fire"}, 1},
		{map[string]any{"quiet": time.Minute, "period": time.Second}, 1},
	} {
		if problems := Scenario.Check(c.set); len(problems) != c.bad {
			t.Errorf("%v: %v", c.set, problems)
		}
	}
	v := scenariotest.Trial(t, Scenario, nil).Values
	if d := Scenario.Estimate(v); d < 5*time.Minute || len(Scenario.Writes(v)) == 0 {
		t.Errorf("estimate %s", d)
	}
}
