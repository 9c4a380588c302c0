package addedlatency

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// A noise draws the latencies of one measurement's requests, in seconds; of
// level, which all requests of a measurement share, neighbours in time may have
// much in common.
type noise struct {
	name string
	// alike is what the level of a measurement keeps of that of the one before.
	alike float64
	draw  func(r *rand.Rand) float64
}

var noises = []noise{
	{"normal", 0, func(r *rand.Rand) float64 { return 300e-6 + 20e-6*r.NormFloat64() }},
	{"skewed", 0, func(r *rand.Rand) float64 { return 200e-6 * math.Exp(0.5*r.NormFloat64()) }},
	{"two humps", 0, func(r *rand.Rand) float64 {
		if r.Float64() < 0.3 {
			return 600e-6 + 20e-6*r.NormFloat64()
		}
		return 200e-6 + 20e-6*r.NormFloat64()
	}},
	{"autocorrelated", 0.9, func(r *rand.Rand) float64 { return 300e-6 + 20e-6*r.NormFloat64() }},
}

// simulate makes blocks in which each request takes so much longer through the
// gateway.
func (n noise) simulate(r *rand.Rand, blocks int, difference float64) []block {
	const requests, spread = 100, 30e-6
	all := make([]block, blocks)
	level := spread * r.NormFloat64()
	for i := range all {
		for _, at := range r.Perm(len(ways)) {
			level = n.alike*level + math.Sqrt(1-n.alike*n.alike)*spread*r.NormFloat64()
			latencies := make([]float64, requests)
			for j := range latencies {
				latencies[j] = level + n.draw(r)
				if ways[at] == gateway {
					latencies[j] += difference
				}
			}
			slices.Sort(latencies)
			s := sample{latencies[requests/2-1], latencies[requests*9/10-1], latencies[requests*95/100-1], latencies[requests*99/100-1]}
			switch ways[at] {
			case gateway:
				all[i].gateway = s
			case direct:
				all[i].direct[0] = s
			default:
				all[i].direct[1] = s
			}
		}
	}
	return all
}

// TestCoverage: the interval of each quantile holds the truth as often as it
// states, and where the truth is zero no difference is shown as often, or more:
// the noise floor comes on top.
func TestCoverage(t *testing.T) {
	trials, stated := 100, 0.95
	if os.Getenv("GATEMARK_E2E") == "1" {
		trials = 1000
	}
	// Three standard deviations of chance.
	slack := 3 * math.Sqrt(stated*(1-stated)/float64(trials))
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range noises {
		for _, blocks := range []int{8, 20} {
			for _, truth := range []float64{0, 100e-6} {
				var held, quiet [len(quantiles)]int
				for trial := range trials {
					for i, a := range compare(n.simulate(random, blocks, truth), uint64(trial)) {
						if a.difference.Mean.Covers(truth) {
							held[i]++
						}
						if !a.shown() {
							quiet[i]++
						}
					}
				}
				for i, q := range quantiles {
					share, silent := float64(held[i])/float64(trials), float64(quiet[i])/float64(trials)
					if share < stated-slack {
						t.Errorf("%s, %d blocks, %.0f µs: the interval of the %s holds the truth in %.1f %% of trials", n.name, blocks, 1e6*truth, q.name, 100*share)
					}
					if truth == 0 && silent < stated-slack {
						t.Errorf("%s, %d blocks: no difference is called none in %.1f %% of trials, at the %s", n.name, blocks, 100*silent, q.name)
					}
					if truth > 0 && q.name == "p50" && silent > 0.05 {
						t.Errorf("%s, %d blocks: %.0f µs are not seen in %d of %d trials", n.name, blocks, 1e6*truth, quiet[i], trials)
					}
				}
				if testing.Verbose() {
					t.Logf("%s, %d blocks, %.0f µs: held %v, not shown %v of %d", n.name, blocks, 1e6*truth, held, quiet, trials)
				}
			}
		}
	}
}

// A difference that the noise floor hides is not claimed, however sure the
// interval is of it.
func TestNoClaimUnderTheNoiseFloor(t *testing.T) {
	var blocks []block
	for i := range 20 {
		// The two of the direct path differ by 100 µs, always to the same side.
		wobble := float64(i%3) * 1e-6
		blocks = append(blocks, block{gateway: all(300e-6 + wobble), direct: [2]sample{all(300e-6 + wobble), all(200e-6)}})
	}
	for _, a := range compare(blocks, 1) {
		if a.difference.Mean.Covers(0) || a.shown() || a.String() != "no difference shown" {
			t.Errorf("%+v, noise floor %g: %s", a.difference.Mean, a.floor(), a)
		}
	}
}

func all(v float64) (s sample) {
	for i := range s {
		s[i] = v
	}
	return s
}

func TestVerdictsInWords(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		blocks     int
		difference float64
		want       string
	}{
		{20, 0, "no difference shown"}, {20, 1e-3, "more"}, {20, -1e-3, "less"}, {5, 1e-3, "need >= 6 blocks, have 5"},
	} {
		got := compare(noises[0].simulate(r, c.blocks, c.difference), 1)[0]
		if !strings.Contains(got.String(), c.want) {
			t.Errorf("%d blocks, %g s: %s, want %s", c.blocks, c.difference, got, c.want)
		}
	}
}

// Equal seeds give equal intervals.
func TestIntervalsAreReproducible(t *testing.T) {
	blocks := noises[1].simulate(rand.New(rand.NewPCG(4, 4)), 10, 1e-4)
	if first, again := compare(blocks, 7), compare(blocks, 7); first[0].difference.Mean != again[0].difference.Mean {
		t.Errorf("%+v and %+v", first[0].difference.Mean, again[0].difference.Mean)
	}
}
