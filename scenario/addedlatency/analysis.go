package addedlatency

import (
	"fmt"
	"math"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

// quantiles are what is compared.
var quantiles = [...]struct {
	name string
	of   func(*load.Summary) float64
}{
	{"p50", func(s *load.Summary) float64 { return s.P50 }}, {"p90", func(s *load.Summary) float64 { return s.P90 }},
	{"p95", func(s *load.Summary) float64 { return s.P95 }}, {"p99", func(s *load.Summary) float64 { return s.P99 }},
}

// A sample has the quantiles of the latency of one measurement, in seconds.
type sample [len(quantiles)]float64

// A block is one measurement through the gateway and two of the direct path,
// made one right after the other in random order, so that the machine's slow
// changes meet all three alike.
type block struct {
	gateway sample
	direct  [2]sample
}

// An added is by how much one quantile differs.
type added struct {
	// gateway and direct are the means of the quantile over all blocks.
	gateway, direct float64
	// difference is the gateway's minus the mean of the block's two of the direct
	// path. control is the one of these minus the other: what it differs by
	// without any gateway.
	difference, control stat.PairedDifference
}

// compare works out what the gateway adds to each quantile. Equal seeds give
// equal intervals.
func compare(blocks []block, seed uint64) (all [len(quantiles)]added) {
	for i := range all {
		var differences, controls []float64
		a := &all[i]
		for _, b := range blocks {
			direct := (b.direct[0][i] + b.direct[1][i]) / 2
			a.gateway += b.gateway[i] / float64(len(blocks))
			a.direct += direct / float64(len(blocks))
			differences = append(differences, b.gateway[i]-direct)
			controls = append(controls, b.direct[0][i]-b.direct[1][i])
		}
		o := stat.PairedOptions{Seed: seed, InOrder: true}
		a.difference, a.control = stat.Paired(differences, o), stat.Paired(controls, o)
	}
	return all
}

// floor is the noise floor: two measurements of the same path may differ by so
// much, as far as the control can tell. No difference that is not larger is
// called one. NaN where there are too few blocks to tell.
func (a added) floor() float64 {
	return math.Max(math.Abs(a.control.Mean.Lo), math.Abs(a.control.Mean.Hi))
}

// shown reports whether there is a difference: the interval leaves out zero,
// and the difference is above the noise floor.
func (a added) shown() bool {
	m := a.difference.Mean
	return m.Bounded() && !m.Covers(0) && math.Abs(m.Center) > a.floor()
}

// exceeds reports whether more than that is added, surely.
func (a added) exceeds(bound float64) bool { return a.shown() && a.difference.Mean.Lo > bound }

// String is the verdict: the difference, or that none was shown.
func (a added) String() string {
	m := a.difference.Mean
	switch {
	case !m.Bounded() || math.IsNaN(a.floor()):
		return fmt.Sprintf("need >= %d blocks, have %d", stat.NeedForBounds(stat.DefaultConfidence), a.difference.N)
	case !a.shown():
		return "no difference shown"
	case m.Center < 0:
		return scenario.Seconds(-m.Center) + " less"
	}
	return scenario.Seconds(m.Center) + " more"
}
