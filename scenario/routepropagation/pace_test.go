package routepropagation

import (
	"testing"
	"time"

	"github.com/gatemark/gatemark/scenario"
)

func TestBearable(t *testing.T) {
	for _, c := range []struct {
		replicas, cpus int
		want           time.Duration
	}{
		{replicas: 1, cpus: 2, want: 2 * time.Millisecond},
		{replicas: 3, cpus: 2, want: 5 * time.Millisecond},
		{replicas: 1, cpus: 4, want: time.Millisecond},
		{replicas: 2, cpus: 64, want: time.Millisecond},
		{replicas: 10, cpus: 1, want: 34 * time.Millisecond},
	} {
		if got := bearable(c.replicas, c.cpus); got != c.want {
			t.Errorf("%d replicas on %d CPUs: %v, want %v", c.replicas, c.cpus, got, c.want)
		}
	}
}

func TestPaceOf(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ step, fresh, kept, new time.Duration }{
		{kept: 5 * ms, new: 20 * ms},
		{step: 2 * ms, kept: 2 * ms, new: 8 * ms},
		{fresh: 7 * ms, kept: 5 * ms, new: 7 * ms},
		{step: ms, fresh: ms, kept: ms, new: ms},
	} {
		got := paceOf(scenario.Values{"step": c.step.String(), "freshStep": c.fresh.String()}, 5*ms)
		if want := (pace{c.kept, c.new}); got != want {
			t.Errorf("step %v and freshStep %v: %v, want %v", c.step, c.fresh, got, want)
		}
	}
}

func TestTooClose(t *testing.T) {
	v := map[string]any{"step": 99 * time.Microsecond, "freshStep": 100 * time.Microsecond}
	if problems := tooClose(v); len(problems) != 1 {
		t.Errorf("%v", problems)
	}
}

// newPropagation is a trial's as it is before anything was measured.
func newPropagation(t *scenario.Trial) *propagation {
	return &propagation{Trial: t, pace: paceOf(t.Values, closest)}
}
