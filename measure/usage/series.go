package usage

import (
	"math"
	"sort"

	"github.com/gatemark/gatemark/measure/usage/cgroup"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

// A point is one reading on the observer's clock, in nanoseconds since it began.
type point struct {
	at int64
	cgroup.Counters
	in, out int64
}

// A series is what was read of one group.
type series struct {
	node   string
	group  reading.Group
	points []point
	gone   bool
	guess  int64
}

// add appends a reading. Since is until when the one before held.
func (s *series) add(r reading.Reading, at, since int64) {
	if n := len(s.points); n > 0 {
		last := s.points[n-1]
		if r.Since != 0 && since > last.at && since < at {
			last.at = since
			s.points = append(s.points, last)
		}
		// Clocks are mapped anew with every answer: never backwards.
		at = max(at, s.points[len(s.points)-1].at)
	}
	s.points = append(s.points, point{at: at, Counters: r.Counters, in: r.In, out: r.Out})
	s.gone = s.gone || r.Gone
	s.guess += r.Guess
}

// A value picks one of a point's.
type value func(*point) int64

func cpuOf(p *point) int64       { return p.CPU }
func throttledOf(p *point) int64 { return p.Throttled }
func memoryOf(p *point) int64    { return p.WorkingSet }
func anonOf(p *point) int64      { return p.Anon }
func inOf(p *point) int64        { return p.in }
func outOf(p *point) int64       { return p.out }
func stallOf(p *point) int64     { return p.StallCPU }

// counter is a counter's value at an instant: on the straight line between the
// readings around it that know it, else that of the nearest. NaN if there is
// none.
func (s *series) counter(of value, at int64) float64 {
	after := sort.Search(len(s.points), func(i int) bool { return s.points[i].at > at })
	before := after - 1
	for before >= 0 && of(&s.points[before]) == cgroup.Unknown {
		before--
	}
	for after < len(s.points) && of(&s.points[after]) == cgroup.Unknown {
		after++
	}
	switch {
	case before < 0 && after >= len(s.points):
		return math.NaN()
	case before < 0:
		return float64(of(&s.points[after]))
	case after >= len(s.points):
		return float64(of(&s.points[before]))
	}
	p, q := &s.points[before], &s.points[after]
	share := float64(at-p.at) / float64(q.at-p.at)
	return float64(of(p)) + share*float64(of(q)-of(p))
}

// used is how much a counter grew between two instants, or NaN.
func (s *series) used(of value, from, to int64) float64 {
	if !s.knows(of) {
		return math.NaN()
	}
	return max(0, s.counter(of, to)-s.counter(of, from))
}

// knows reports whether any reading tells the value. As long as nothing ran in a
// group it is known to have used nothing, whatever the kernel tells later: that
// alone is no knowledge.
func (s *series) knows(of value) bool {
	ran := false
	for i := range s.points {
		if s.points[i].CPU == 0 {
			continue
		}
		ran = true
		if of(&s.points[i]) != cgroup.Unknown {
			return true
		}
	}
	return !ran
}

// level is the last value known at an instant: 0 before the first reading and
// after the last one of a group that is gone, NaN where none knows it.
func (s *series) level(of value, at int64) float64 {
	if len(s.points) == 0 || at < s.points[0].at {
		return 0
	}
	i := sort.Search(len(s.points), func(i int) bool { return s.points[i].at > at }) - 1
	if s.gone && i == len(s.points)-1 {
		return 0
	}
	for ; i >= 0; i-- {
		if v := of(&s.points[i]); v != cgroup.Unknown {
			return float64(v)
		}
	}
	return math.NaN()
}
