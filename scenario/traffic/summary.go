package traffic

import (
	"math"
	"slices"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario/attack"
)

// A summary is all rounds of a point on one way. Those that are no evidence are
// left out where others are left.
type summary struct {
	point  point
	direct bool
	rounds []*seen
	// verdict is that of the rounds that count: the first one's if none is valid.
	verdict attack.Verdict
	// counts are all rounds together: histograms are merged, never averaged.
	counts load.Counts
}

// summarize puts the rounds of a point together, or returns nil where there are
// none.
func (t *traffic) summarize(p point, direct bool) *summary {
	s := &summary{point: p, direct: direct, verdict: attack.Fine}
	var doubtful []*seen
	for _, one := range t.seen {
		if one.point != p || one.direct != direct {
			continue
		}
		if one.valid() {
			s.rounds = append(s.rounds, one)
		} else {
			doubtful = append(doubtful, one)
		}
	}
	if len(s.rounds) == 0 {
		s.rounds = doubtful
	}
	for _, one := range s.rounds {
		if s.verdict == attack.Fine {
			s.verdict = one.Verdict
		}
		s.counts.Merge(&one.Counts)
	}
	if len(s.rounds) == 0 {
		return nil
	}
	return s
}

// valid reports whether the summary is evidence about the gateway.
func (s *summary) valid() bool { return s.verdict.Valid() }

// median of what a round tells; of an even number the mean of the two in the
// middle. NaN where any is unknown.
func (s *summary) median(of func(*seen) float64) float64 {
	var all []float64
	for _, one := range s.rounds {
		all = append(all, of(one))
	}
	if slices.ContainsFunc(all, math.IsNaN) {
		return math.NaN()
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// rate is the achieved one.
func (s *summary) rate() float64 {
	return s.median(func(one *seen) float64 { return one.Result.AchievedRate })
}

// cores is how many CPUs something used, on average.
func (s *summary) cores(of func(attack.Use) float64) float64 {
	return s.median(func(one *seen) float64 { return of(one.Use) / one.Use.Seconds })
}

// cost is CPU time for a million requests, in seconds.
func (s *summary) cost(of func(attack.Use) float64) float64 {
	return s.median(func(one *seen) float64 { return attack.PerMillion(of(one.Use), attack.Sent(&one.Counts)) })
}

// latency is from when requests were due, service from when they were sent; of
// requests that ended well. nil where none did.
func (s *summary) latency() *load.Summary {
	return s.well(func(c *load.ClassCount) *load.Histogram { return c.Latency })
}
func (s *summary) service() *load.Summary {
	return s.well(func(c *load.ClassCount) *load.Histogram { return c.Service })
}

func (s *summary) well(of func(*load.ClassCount) *load.Histogram) *load.Summary {
	if well := s.counts.Classes[load.OK]; well != nil {
		return of(well).Summary()
	}
	return nil
}

// errors are those that are not the attacker's own, by class.
func (s *summary) errors() map[string]int {
	all := map[string]int{}
	for class, n := range s.counts.Errors() {
		if !class.Ours() {
			all[class.String()] += int(n)
		}
	}
	return all
}

// closed are the points of the gateway's closed loops with a payload, by
// connections; only those that are evidence.
func (t *traffic) closed(payload int) []*summary {
	var all []*summary
	for _, p := range t.points {
		if p.rate != 0 || p.payload != payload {
			continue
		}
		if s := t.summarize(p, false); s != nil && s.valid() {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *summary) int { return a.point.connections - b.point.connections })
	return all
}

// payloads are those of the points, each once.
func (t *traffic) payloads() []int {
	var all []int
	for _, p := range t.points {
		if !slices.Contains(all, p.payload) {
			all = append(all, p.payload)
		}
	}
	return all
}

// best is the summary with the highest rate, or nil.
func best(all []*summary) *summary {
	var top *summary
	for _, s := range all {
		if top == nil || s.rate() > top.rate() {
			top = s
		}
	}
	return top
}

// kneeShare of the highest throughput is as good as it.
const kneeShare = 0.95

// knee is the smallest number of connections with which the throughput is as
// good as the highest. all is by connections.
func knee(all []*summary) *summary {
	top := best(all)
	for _, s := range all {
		if s.rate() >= kneeShare*top.rate() {
			return s
		}
	}
	return top
}
