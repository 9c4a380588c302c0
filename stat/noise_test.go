package stat

import (
	"math"
	"math/rand/v2"
)

// A shape is noise that intervals are tried on, with its true median.
type shape struct {
	name   string
	median float64
	draw   func(random *rand.Rand, n int) []float64
	// inOrder says that samples are like the ones before them.
	inOrder bool
}

// alike is the correlation of neighbours in autocorrelated noise.
const alike = 0.5

var shapes = []shape{
	{"normal", 10, each(func(r *rand.Rand) float64 { return 10 + r.NormFloat64() }), false},
	{"lognormal", 10, each(func(r *rand.Rand) float64 { return 10 * math.Exp(r.NormFloat64()/2) }), false},
	// The median m solves 0.7 Φ((m-10)/0.5) = 0.5.
	{"bimodal", 10.282975, each(func(r *rand.Rand) float64 {
		mode := 10.0
		if r.Float64() < 0.3 {
			mode = 14
		}
		return mode + r.NormFloat64()/2
	}), false},
	{"autocorrelated", 10, autoregressive, true},
}

func each(draw func(*rand.Rand) float64) func(*rand.Rand, int) []float64 {
	return func(random *rand.Rand, n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = draw(random)
		}
		return values
	}
}

// autoregressive is a process of first order around 10, with variance 1.
func autoregressive(random *rand.Rand, n int) []float64 {
	values := make([]float64, n)
	state := random.NormFloat64()
	for i := range values {
		values[i] = 10 + state
		state = alike*state + math.Sqrt(1-alike*alike)*random.NormFloat64()
	}
	return values
}

// interleaved deals noise out to two treatments the way a run does: in blocks
// of one each, in random order.
func interleaved(random *rand.Rand, s shape, blocks int) (a, b []float64) {
	values := s.draw(random, 2*blocks)
	for i := range blocks {
		first := random.IntN(2)
		a = append(a, values[2*i+first])
		b = append(b, values[2*i+1-first])
	}
	return a, b
}

// plus and times change values in place.
func plus(values []float64, shift float64) []float64 {
	for i := range values {
		values[i] += shift
	}
	return values
}

func times(values []float64, factor float64) []float64 {
	for i := range values {
		values[i] *= factor
	}
	return values
}
