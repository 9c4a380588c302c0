package run

import (
	"fmt"
	"math"

	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/result"
)

// A bystander is an implementation that runs beside the one under test and has
// no part in the trial. From this share of one CPU on, and from this share of
// what the one under test used itself, its work is worth a finding: at rest,
// control planes use a percent or two.
const (
	bystanderCPUs  = 0.05
	bystanderShare = 0.1
)

// coresident is the isolation in which others run and have no part.
const coresident = "coresident"

// findBystanders looks for implementations that are busy with what is others'.
func (c *consumption) findBystanders(w *usage.Window) {
	t, elapsed := c.trial, w.To.Sub(w.From).Seconds()
	if t.Isolation != coresident || elapsed <= 0 {
		return
	}
	own := cpuOf(w, controlPlane, dataPlane)
	for _, other := range t.Others {
		role := otherRole(other)
		used := cpuOf(w, role+"-"+controlPlane, role+"-"+dataPlane)
		if used < bystanderCPUs*elapsed || used < bystanderShare*own {
			continue
		}
		t.Find("bystander-cpu", result.Costly,
			fmt.Sprintf("%s, which had no part in it, used %.1f CPU-seconds within %.0f s (%.0f %% of one CPU) while only %s was given something to do, which itself used %.1f",
				other.Treatment, used, elapsed, 100*used/elapsed, t.Target.Treatment, own),
			result.Evidence{Name: "CPU-seconds", Text: fmt.Sprintf("%s: control plane %.2f, data plane %.2f; %s: control plane %.2f, data plane %.2f",
				other.Treatment, cpuOf(w, role+"-"+controlPlane), cpuOf(w, role+"-"+dataPlane),
				t.Target.Treatment, cpuOf(w, controlPlane), cpuOf(w, dataPlane))})
	}
}

// cpuOf is the CPU time of roles together, of which what nobody knows is none.
func cpuOf(w *usage.Window, roles ...string) float64 {
	total := 0.0
	for _, role := range roles {
		if u, ok := w.Uses[role]; ok && !math.IsNaN(u.CPU) {
			total += u.CPU
		}
	}
	return total
}
