package scrape

import (
	"math"
	"time"
)

// A Sum is what the pods of a role told within a window, together. What none of
// them told is NaN.
type Sum struct {
	// SeriesBegin and SeriesEnd are at the window's edges, SeriesPeak is the most
	// that there were.
	SeriesBegin, SeriesEnd, SeriesPeak float64
	// HeapPeak is the most that all pods' heaps were together.
	HeapPeak float64
	// GC, Allocations and Pushes are how many there were.
	GC, Allocations, Pushes float64
	// Scrapes and Failed count, Bytes and Took are of one pod's scrape on average.
	Scrapes, Failed int
	Bytes           float64
	Took            time.Duration
	// Err is one of the failures.
	Err error
}

// A Point is what the pods of a role told in one round.
type Point struct {
	At           time.Time // of the round's first answer
	Series, Heap float64
}

// Summarize adds up the scrapes of a role from one instant to another.
func Summarize(scrapes []Scrape, role string, from, to time.Time) (Sum, []Point) {
	sum := Sum{HeapPeak: unknown, GC: unknown, Allocations: unknown, Pushes: unknown, SeriesBegin: unknown, SeriesEnd: unknown, SeriesPeak: unknown}
	pods := map[string]*growth{}
	var points []Point
	round := 0
	for _, s := range scrapes {
		if s.Role != role || s.At.Before(from) || s.At.After(to) {
			continue
		}
		sum.Scrapes++
		if s.Err != nil {
			sum.Failed++
			sum.Err = s.Err
			continue
		}
		sum.Bytes += float64(s.Bytes)
		sum.Took += s.Fetch + s.Parse
		if s.Round != round {
			round = s.Round
			points = append(points, Point{At: s.At, Series: unknown, Heap: unknown})
		}
		p := &points[len(points)-1]
		plus(&p.Series, s.Series)
		plus(&p.Heap, s.Heap)
		if pods[s.Pod] == nil {
			// One that came after the first round began at zero.
			pods[s.Pod] = newGrowth(len(points) > 1)
		}
		pods[s.Pod].add(s.Numbers)
	}
	if good := sum.Scrapes - sum.Failed; good > 0 {
		sum.Bytes /= float64(good)
		sum.Took /= time.Duration(good)
		sum.SeriesBegin, sum.SeriesEnd = points[0].Series, points[len(points)-1].Series
	}
	for _, p := range points {
		sum.SeriesPeak, sum.HeapPeak = most(sum.SeriesPeak, p.Series), most(sum.HeapPeak, p.Heap)
	}
	for _, g := range pods {
		plus(&sum.GC, g.gc.grown)
		plus(&sum.Allocations, g.allocations.grown)
		plus(&sum.Pushes, g.pushes.grown)
	}
	return sum, points
}

var unknown = math.NaN()

// growth follows one pod's counters.
type growth struct{ gc, allocations, pushes counter }

func newGrowth(fromZero bool) *growth {
	c := counter{grown: unknown, fromZero: fromZero}
	return &growth{c, c, c}
}

func (g *growth) add(n Numbers) {
	g.gc.add(n.GC)
	g.allocations.add(n.Allocations)
	g.pushes.add(n.Pushes)
}

// A counter adds up how much a counter grew, over restarts that set it to zero.
type counter struct {
	grown, last float64
	fromZero    bool
}

func (c *counter) add(v float64) {
	switch {
	case math.IsNaN(v):
		return
	case math.IsNaN(c.grown) && c.fromZero:
		c.grown = v
	case math.IsNaN(c.grown):
		c.grown = 0
	case v < c.last:
		c.grown += v
	default:
		c.grown += v - c.last
	}
	c.last = v
}

// plus adds what is known to a sum of which nothing may be known yet.
func plus(to *float64, v float64) {
	switch {
	case math.IsNaN(v):
	case math.IsNaN(*to):
		*to = v
	default:
		*to += v
	}
}

func most(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}
