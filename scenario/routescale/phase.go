package routescale

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/scenario"
)

// The parts of a trial.
const (
	atRestBefore  = "at rest before"
	growing       = "growing"
	atRestFull    = "at rest with all routes"
	singleChanges = "single changes"
	changing      = "changing"
	atRestChanged = "at rest after the changes"
	restarting    = "restarting"
	deleting      = "deleting"
	atRestDeleted = "at rest after the deletion"
)

// A phase is a part of the trial.
type phase struct {
	name     string
	from, to time.Time
	// routes is how many there were at its end, changes how many were made.
	routes, changes int
	window          *usage.Window // nil where use is not observed
}

// enter ends the part before and begins another.
func (s *scaling) enter(ctx context.Context, name string) {
	if s.Meter != nil {
		s.Meter.Edge(ctx)
	}
	now := time.Now()
	if n := len(s.phases); n > 0 {
		s.phases[n-1].to, s.phases[n-1].routes = now, s.there()
	}
	if name == "end" {
		return
	}
	s.Phase(now, name)
	s.phases = append(s.phases, &phase{name: name, from: now})
}

// of is the part of that name, or nil.
func (s *scaling) of(name string) *phase {
	if i := slices.IndexFunc(s.phases, func(p *phase) bool { return p.name == name }); i >= 0 {
		return s.phases[i]
	}
	return nil
}

// measure reads what was used in every part, and in every step's pause.
func (s *scaling) measure() {
	if s.Meter == nil {
		return
	}
	for _, p := range s.phases {
		p.window = s.Meter.Window(p.from, p.to)
	}
	for _, step := range s.steps {
		if !step.from.IsZero() {
			step.window = s.Meter.Window(step.from, step.to)
		}
	}
}

func (p *phase) seconds() float64 { return p.to.Sub(p.from).Seconds() }

// cpu is the CPU time of a role in a part, NaN where nobody knows.
func (p *phase) cpu(role string) float64 {
	if p == nil || p.window == nil {
		return math.NaN()
	}
	u, ok := p.window.Uses[role]
	if !ok {
		return math.NaN()
	}
	return u.CPU
}

// component is the CPU time of a component of Kubernetes, by its name, on all
// nodes.
func (p *phase) component(name string) float64 {
	if p == nil || p.window == nil {
		return math.NaN()
	}
	total := math.NaN()
	for _, m := range p.window.Each {
		if m.Role == scenario.KubernetesRole && m.Pod == nil && m.Name == name {
			if math.IsNaN(total) {
				total = 0
			}
			total += m.CPU
		}
	}
	return total
}

// memory is the median working set of a role in the later half of a window, NaN
// where nobody knows: the earlier half may still settle.
func memory(w *usage.Window, role string) float64 {
	if w == nil {
		return math.NaN()
	}
	var all []float64
	half := w.To.Sub(w.From).Seconds() / 2
	for i, v := range w.Memory[role] {
		if w.At[i] >= half && !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func (p *phase) memory(role string) float64 {
	if p == nil {
		return math.NaN()
	}
	return memory(p.window, role)
}

// planes are those under test.
var planes = []string{scenario.ControlPlaneRole, scenario.DataPlaneRole}
