package fault

import (
	"math"
	"testing"
	"time"
)

// TestDistributions holds samples against what is known of each distribution:
// the share below some points, within six standard deviations.
func TestDistributions(t *testing.T) {
	const ms = float64(time.Millisecond)
	for _, c := range []struct {
		name  string
		delay Delay
		below map[float64]float64 // the share of samples below so many ms
	}{
		{"fixed", Delay{Fixed: "5ms"}, map[float64]float64{4.999: 0, 5.001: 1}},
		{"uniform", Delay{Uniform: &Uniform{"1ms", "5ms"}}, map[float64]float64{1: 0, 2: 0.25, 4: 0.75, 5.001: 1}},
		{"exponential", Delay{Exponential: &Exponential{Mean: "2ms"}}, map[float64]float64{2: 1 - math.Exp(-1), 6: 1 - math.Exp(-3)}},
		{"exponential, bounded", Delay{Exponential: &Exponential{"2ms", "3ms"}}, map[float64]float64{2: 1 - math.Exp(-1), 3.001: 1}},
		{"normal", Delay{Normal: &Normal{"2ms", "1ms"}}, map[float64]float64{1e-9: 0.02275, 2: 0.5, 3: 0.84134}},
		{"lognormal", Delay{Lognormal: &Lognormal{Median: "2ms", Sigma: 0.5}}, map[float64]float64{2: 0.5, 2 * math.Exp(0.5): 0.84134}},
		{"bimodal", Delay{Modes: []Mode{{9, Delay{Fixed: "1ms"}}, {1, Delay{Fixed: "50ms"}}}}, map[float64]float64{1: 0, 2: 0.9, 51: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p problems
			draw := c.delay.sampler("delay", &p)
			if err := p.join(); err != nil {
				t.Fatal(err)
			}
			const n = 50_000
			counts := map[float64]int{}
			for range n {
				x := float64(draw()) / ms
				if x < 0 {
					t.Fatalf("%v ms", x)
				}
				for limit := range c.below {
					if x < limit {
						counts[limit]++
					}
				}
			}
			for limit, share := range c.below {
				got, allowed := float64(counts[limit])/n, 6*math.Sqrt(share*(1-share)/n)
				if math.Abs(got-share) > allowed {
					t.Errorf("%v of the samples are below %v ms, want %v", got, limit, share)
				}
			}
		})
	}
}
