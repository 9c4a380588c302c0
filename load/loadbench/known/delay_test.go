package known

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestDelaysHaveTheirMean: what is drawn is what the name says.
func TestDelaysHaveTheirMean(t *testing.T) {
	for _, c := range []struct {
		text string
		mean time.Duration
		// beyond is the share of delays above twice the mean.
		beyond float64
	}{
		{"fixed:2ms", 2 * time.Millisecond, 0},
		{"exponential:2ms", 2 * time.Millisecond, math.Exp(-2)},
		{"bimodal:1ms,51ms,0.02", 2 * time.Millisecond, 0.02},
	} {
		d := delay(t, c.text)
		if d.Mean() != c.mean {
			t.Errorf("%s: mean %v", d, d.Mean())
		}
		const n = 200_000
		r := rand.New(rand.NewPCG(1, 2))
		var sum time.Duration
		beyond := 0
		for range n {
			v := d.Draw(r)
			sum += v
			if v > 2*c.mean {
				beyond++
			}
		}
		if got := float64(sum) / n / float64(c.mean); math.Abs(got-1) > 0.03 {
			t.Errorf("%s: %v times the mean in %d draws", d, got, n)
		}
		if got := float64(beyond) / n; math.Abs(got-c.beyond) > 0.005 {
			t.Errorf("%s: a share of %v lies beyond twice the mean, want %v", d, got, c.beyond)
		}
	}
}

func TestBadDelays(t *testing.T) {
	for _, text := range []string{"", "2ms", "fixed:", "fixed:2", "fixed:-2ms", "fixed:1ms,2ms", "normal:2ms", "bimodal:1ms,2ms", "bimodal:1ms,2ms,1.5", "bimodal:1ms,x,0.5"} {
		if _, err := ParseDelay(text); err == nil || !strings.Contains(err.Error(), "want fixed:2ms") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
