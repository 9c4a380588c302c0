package routescale

import (
	"math"

	"github.com/gatemark/gatemark/stat"
)

// perRoute is how much memory a plane takes for each route: the slope over the
// sizes that it grew through, each by the median of its pause. One size would
// tell of a plane's own memory, and of garbage.
func (s *scaling) perRoute(role string) stat.Trend {
	sizes, bytes := []float64{0}, []float64{s.of(atRestBefore).memory(role)}
	for _, p := range s.steps {
		if p.converged() {
			sizes, bytes = append(sizes, float64(p.size)), append(bytes, memory(p.window, role))
		}
	}
	return stat.FindTrend(sizes, bytes, 0)
}

// A leak is how memory went while the same routes were changed again and again:
// it should come to rest.
type leak struct {
	// seconds is how long it was looked at, level the memory in the middle.
	seconds, level float64
	// whole is the trend of all of it, late of its later half, in bytes a second.
	whole, late stat.Trend
}

const (
	// settling is the share of the time at first that does not count: what
	// changes take, a plane need not have had before.
	settling = 0.2
	// leakTime is how much time it takes to tell a leak from what settles.
	leakTime = 60.0
	// leakFloor is the least that counts, in bytes a second, and leakShare the
	// least share of all memory in a minute.
	leakFloor, leakShare = float64(1<<20) / 60, 0.01
	// lasting is how much of the slope must be there in the later half.
	lasting = 0.5
)

// leakOf looks at memory over time, in seconds. There is none of a plane of which
// nobody saw the memory.
func leakOf(at, bytes []float64) leak {
	if len(at) == 0 || len(bytes) != len(at) {
		return leak{level: math.NaN()}
	}
	from := at[0] + settling*(at[len(at)-1]-at[0])
	var x, y []float64
	for i := range at {
		if at[i] >= from {
			x, y = append(x, at[i]), append(y, bytes[i])
		}
	}
	half := len(x) / 2
	l := leak{seconds: at[len(at)-1] - at[0], level: math.NaN(), whole: stat.FindTrend(x, y, 0), late: stat.FindTrend(x[half:], y[half:], 0)}
	if len(y) > 0 {
		l.level = y[half]
	}
	return l
}

// tells reports whether it was looked at for long enough.
func (l *leak) tells() bool { return l.seconds >= leakTime && l.whole.Verdict != stat.TooFew }

// is reports whether memory grows, clearly, and goes on to do so.
func (l *leak) is() bool {
	floor := max(leakFloor, leakShare*l.level/60)
	return l.tells() && l.whole.Verdict == stat.Shown && l.whole.Slope.Lo >= floor &&
		l.late.Verdict == stat.Shown && l.late.Slope.Center >= lasting*l.whole.Slope.Center
}

// leakIn is the leak of a plane in the changes.
func (s *scaling) leakIn(role string) leak {
	p := s.of(changing)
	if p == nil || p.window == nil {
		return leak{level: math.NaN()}
	}
	return leakOf(p.window.At, p.window.Memory[role])
}

const (
	// keptRest is how long a plane is given to return memory, keptShare how much
	// of what it took it may keep, and keptFloor how little nobody minds.
	keptRest, keptShare, keptFloor = 60.0, 0.8, float64(16 << 20)
)

// kept is how much of the memory that the routes took at most a plane still has
// at rest without them, and how much that was.
func (s *scaling) kept(role string) (kept, took float64) {
	before := s.of(atRestBefore).memory(role)
	most := math.Max(s.of(atRestFull).memory(role), s.of(atRestBefore).memory(role))
	if changed := s.of(atRestChanged).memory(role); changed > most {
		most = changed
	}
	return s.of(atRestDeleted).memory(role) - before, most - before
}
