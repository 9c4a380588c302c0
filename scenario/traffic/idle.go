package traffic

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// idleParameter is how many connections are held for the memory that they take.
var idleParameter = scenario.Parameter{Name: "idle", Default: 0, Min: 0, Max: 100_000,
	Help: "connections that are held nearly without requests before all else, for the memory that they take; 0: none"}

// idleRate is how many requests a second they carry, all together: some show
// that they are served.
const idleRate = 10

// idleEstimate is how long it takes, with what each measurement takes.
func idleEstimate(connections int, each time.Duration) time.Duration {
	if connections == 0 {
		return 0
	}
	return 2*each + time.Duration(connections)*200*time.Microsecond
}

// holdIdle holds a connection for each attacker, and then all that are asked
// for. It comes first, as allocators keep what they once had.
func (t *traffic) holdIdle(ctx context.Context) error {
	most := t.Values.Int(idleParameter.Name)
	if most == 0 {
		return nil
	}
	length := t.Values.Duration("warmup") + t.Values.Duration("duration")
	for _, n := range []int{t.Values.Int("attackers"), most} {
		t.Progress("holding %d %s", n, scenario.Plural(n, "connection"))
		o := load.Options{
			Targets: []load.Target{t.Wire.Target(host, t.Gateway, 0)}, Connections: n, Rate: load.Steady(idleRate, length),
			Duration: length, Warmup: t.Values.Duration("warmup"), Timeout: t.Values.Duration("timeout"), Whole: true,
		}
		t.Wire.Speak(&o)
		o.Fresh, o.Streams = 0, 1
		one, err := t.Measure(ctx, o)
		if err != nil {
			return scenario.Invalid{Reason: fmt.Errorf("hold %d connections: %w", n, err)}
		}
		t.held = append(t.held, one)
	}
	return nil
}

// idleMetric is what a connection takes of the data plane's memory.
func (t *traffic) idleMetric() {
	if len(t.held) == 0 {
		return
	}
	few, many := t.held[0], t.held[1]
	connections := t.Values.Int(idleParameter.Name) - t.Values.Int("attackers")
	each := (many.Use.Memory - few.Use.Memory) / float64(connections)
	if math.IsNaN(each) {
		return
	}
	m := result.Value(fmt.Sprintf("Memory of the data plane for each of %d connections without requests", connections), "B", each).Lower()
	m.N = connections
	if failed := many.Counts.Errors(); len(failed) > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("of %d requests that were to show that they are served, some failed: %v", many.Counts.Requests(), failed))
	}
	t.Metric("memory-per-idle-connection", m)
}

// heldSent are the requests that were sent meanwhile.
func (t *traffic) heldSent() int {
	n := 0
	for _, one := range t.held {
		n += int(one.Sent)
	}
	return n
}
