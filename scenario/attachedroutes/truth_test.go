package attachedroutes

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/measure/history"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// again reports once more after a change of what was seen.
func (a *attachment) again(change func()) *attachment {
	a.Result = &result.Trial{Scenario: "attached-routes"}
	change()
	a.report()
	return a
}

func counting() *attachment {
	return attached(map[time.Duration][]int{0: {0, 0}, 2 * time.Second: {2, 2}, 5 * time.Second: {4, 4}, 24 * time.Second: {0, 0}})
}

// A control plane that never counts is not one whose counts fall in no time.
func TestACountThatNeverLeftZeroTookNoTime(t *testing.T) {
	a := attached(map[time.Duration][]int{0: {0, 0}})
	scenariotest.CheckFindings(t, a.Result, "wrong-count-after-setup broken")
	if m := a.Result.Metrics["setup"]; m.Value != nil || m.Censored != 1 {
		t.Errorf("setup: %+v", m)
	}
	for _, name := range []string{"teardown", "teardown-residual", "teardown-l0", "teardown-l1"} {
		m, ok := a.Result.Metrics[name]
		if !ok || m.Value != nil || m.Censored != 0 || len(m.Warnings) != 1 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m := a.Result.Metrics["teardown-writes"]; m.Value == nil {
		t.Errorf("the writes themselves took their time: %+v", m)
	}
	for _, row := range a.Result.Tables[0].Rows {
		if strings.HasPrefix(row[0], "listener") && (row[1] != "never" || row[2] != "before the first write") {
			t.Errorf("row %q", row)
		}
	}
}

func TestTheLastWritesAnswerMayComeAfterTheCount(t *testing.T) {
	a := attached(map[time.Duration][]int{0: {0, 0}, 3050 * time.Millisecond: {4, 4}, 24 * time.Second: {0, 0}})
	scenariotest.CheckFindings(t, a.Result)
	if m := a.Result.Metrics["setup-residual"]; m.Value == nil || math.Abs(*m.Value+0.05) > 1e-6 {
		t.Errorf("setup-residual: %+v, want -0.05", m)
	}
}

func TestEveryListenerHasItsOwnTime(t *testing.T) {
	a := attached(map[time.Duration][]int{0: {0, 0}, 4 * time.Second: {4, 3}, 5 * time.Second: {4, 4},
		23500 * time.Millisecond: {1, 0}, 25 * time.Second: {0, 0}})
	scenariotest.CheckFindings(t, a.Result)
	for name, want := range map[string]float64{
		"setup-l0": 4, "setup-l1": 5, "setup": 5, "teardown-l0": 5, "teardown-l1": 3.5, "teardown": 5,
	} {
		if m := a.Result.Metrics[name]; m.Value == nil || math.Abs(*m.Value-want) > 1e-6 || m.Better != "lower" {
			t.Errorf("%s: %+v, want %g", name, m, want)
		}
	}
}

func TestARouteThatIsNeverAcceptedIsCensored(t *testing.T) {
	a := counting()
	a.again(func() { delete(a.status.Current, attachedName(2)) })
	if m := a.Result.Metrics["accepted"]; m.Value != nil || m.Censored != 1 || m.Limit != 10 {
		t.Errorf("accepted: %+v", m)
	}
	if m := a.Result.Metrics["route-status"]; m.N != 3 || m.Censored != 1 || math.Abs(*m.Min-0.5) > 1e-6 {
		t.Errorf("route-status: %+v", m)
	}
}

func TestAListenerWithoutAStatusIsAbsent(t *testing.T) {
	a := attached(map[time.Duration][]int{0: {0, -1}, 5 * time.Second: {4, -1}, 24 * time.Second: {0, -1}})
	scenariotest.CheckFindings(t, a.Result, "wrong-count-after-setup broken", "wrong-count-after-teardown broken")
	if text := scenariotest.Finding(t, a.Result, "wrong-count-after-setup").Evidence[0].Text; !strings.Contains(text, "the count was absent at the end, want 4") {
		t.Errorf("evidence %q", text)
	}
	if c, ok := a.Result.Series[0].Column("l1"); !ok || !math.IsNaN(c.Values[0]) {
		t.Errorf("column l1: %v", c.Values)
	}
}

func TestRoutesThatAreCountedAndNotServed(t *testing.T) {
	a := counting()
	swept := scenario.Sweep{Asked: 8, Right: 5, Wrong: map[string]int{"status 404": 2, "no answer": 1}, Examples: []string{"route-00001 on envoy: status 404"}}
	a.again(func() { a.swept = swept })
	scenariotest.CheckFindings(t, a.Result, "not-served broken")
	want := "when the status counted every route, 3 of 8 requests, one for each route, listener and replica, were not answered by their route (2× status 404, 1× no answer)"
	if f := scenariotest.Finding(t, a.Result, "not-served"); f.Text != want {
		t.Errorf("it says %q, want %q", f.Text, want)
	}
	// Where it never counted every route, the sentence must not say so.
	short := attached(map[time.Duration][]int{0: {0, 0}, 5 * time.Second: {3, 4}, 24 * time.Second: {0, 0}})
	short.again(func() { short.swept = swept })
	if f := scenariotest.Finding(t, short.Result, "not-served"); strings.Contains(f.Text, "the status counted") {
		t.Errorf("it says %q", f.Text)
	}
}

// Counts that trail what exists while routes are deleted are late, not wrong.
func TestACountThatTrailsIsNoOvercount(t *testing.T) {
	a := attached(map[time.Duration][]int{0: {0, 0}, 5 * time.Second: {4, 4}, 24 * time.Second: {4, 4}, 29 * time.Second: {0, 0}})
	scenariotest.CheckFindings(t, a.Result, "count-late notable")
	a = attached(map[time.Duration][]int{0: {0, 0}, 5 * time.Second: {4, 4}, 24 * time.Second: {5, 4}, 29 * time.Second: {0, 0}})
	scenariotest.CheckFindings(t, a.Result, "overcount broken", "count-late notable")
}

func TestExistingRoutesStepWithTheAnswers(t *testing.T) {
	a := counting()
	existing := a.Result.Series[1]
	count, _ := existing.Column("routes")
	at, _ := existing.Column("at")
	want := []float64{1, 2, 3, 4, 3, 2, 1, 0}
	for i := range want {
		if count.Values[i] != want[i] || i > 0 && at.Values[i] <= at.Values[i-1] {
			t.Fatalf("counts %v at %v, want %v", count.Values, at.Values, want)
		}
	}
}

// TestSettleWaitsForEveryListener: through the statuses as they arrive.
func TestSettleWaitsForEveryListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &attachedCounts{listeners: []scenario.Listener{{Name: "l0"}, {Name: "l1"}}, changed: make(chan struct{})}
		began := time.Now()
		show := func(after time.Duration, kind watch.EventType, counts map[string]int32) {
			gateway := &gatewayv1.Gateway{}
			for name, n := range counts {
				gateway.Status.Listeners = append(gateway.Status.Listeners, gatewayv1.ListenerStatus{Name: gatewayv1.SectionName(name), AttachedRoutes: n})
			}
			time.AfterFunc(after, func() { c.record(history.Event[gatewayv1.Gateway]{Type: kind, Object: gateway, At: time.Now()}) })
		}
		show(1*time.Second, watch.Modified, map[string]int32{"l0": 5, "other": 5})
		show(4*time.Second, watch.Modified, map[string]int32{"l1": 5, "l0": 5})
		show(5*time.Second, watch.Deleted, nil)
		var said int
		since := c.settle(t.Context(), 5, time.Minute, 2*time.Second, func(string, ...any) { said++ })
		if l0, l1 := since[0].Sub(began), since[1].Sub(began); l0 != time.Second || l1 != 4*time.Second {
			t.Errorf("right since %s and %s, want 1s and 4s", l0, l1)
		}
		if took := time.Since(began).Round(100 * time.Millisecond); took != 6*time.Second {
			t.Errorf("settled after %s, want 6s", took)
		}
		if said == 0 {
			t.Error("nothing was said on the way")
		}
		if v := c.all(); len(v) != 2 || v[0].counts[1] != -1 {
			t.Errorf("versions %v", v)
		}
	})
}

func TestSettleEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &attachedCounts{listeners: make([]scenario.Listener, 1), changed: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		since := c.settle(ctx, 5, time.Hour, time.Second, func(string, ...any) {})
		if took := time.Since(began); took != 2*time.Second || !since[0].IsZero() {
			t.Errorf("ended after %s with %v", took, since)
		}
	})
}
