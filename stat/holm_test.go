package stat

import (
	"fmt"
	"math"
	"testing"
)

func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ p, want []float64 }{
		{nil, nil},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.04, 0.01, 0.03, 0.005}, []float64{0.06, 0.03, 0.06, 0.02}},
		{[]float64{0.5, 0.9, 0.6}, []float64{1, 1, 1}},
		{[]float64{nan, 0.02, nan, 0.01}, []float64{nan, 0.02, nan, 0.02}},
		{[]float64{0.01, 0.01}, []float64{0.02, 0.02}},
	} {
		if got := Holm(c.p); fmt.Sprintf("%.6f", got) != fmt.Sprintf("%.6f", c.want) {
			t.Errorf("Holm(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}
