package stat

import (
	"math"
	"testing"
)

// The remission times, in weeks, of the trial of 6-mercaptopurine by E. J.
// Freireich et al., Blood 21, 1963, whose estimates are in many textbooks. What
// is negative was censored.
var (
	treated = weeks(6, 6, 6, -6, 7, -9, 10, -10, -11, 13, 16, -17, -19, -20, 22, 23, -25, -32, -32, -34, -35)
	placebo = weeks(1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23)
)

func weeks(times ...float64) []Lifetime {
	var list []Lifetime
	for _, t := range times {
		list = append(list, Lifetime{math.Abs(t), t < 0})
	}
	return list
}

func TestKaplanMeierOfATextbook(t *testing.T) {
	s := KaplanMeier(treated, Options{})
	want := []struct{ time, share float64 }{{6, 0.857}, {7, 0.807}, {10, 0.753}, {13, 0.690}, {16, 0.627}, {22, 0.538}, {23, 0.448}}
	if len(s.Times) != len(want) || s.N != 21 || s.Events != 9 {
		t.Fatalf("got %+v", s)
	}
	for i, w := range want {
		if s.Times[i] != w.time || !near(s.Share[i], w.share, 6e-4) {
			t.Errorf("share %v at %v, want %v at %v", s.Share[i], s.Times[i], w.share, w.time)
		}
		if !(s.Lo[i] < s.Share[i] && s.Share[i] < s.Hi[i] && s.Lo[i] >= 0 && s.Hi[i] <= 1) {
			t.Errorf("share %v within [%v, %v]", s.Share[i], s.Lo[i], s.Hi[i])
		}
	}
	// At 10 weeks Greenwood's standard error is 0.0963.
	if !near(s.Lo[2], 0.503, 1e-3) || !near(s.Hi[2], 0.889, 1e-3) {
		t.Errorf("bounds [%.4f, %.4f] at 10 weeks", s.Lo[2], s.Hi[2])
	}
	if median := s.Quantile(0.5); median.Center != 23 || median.Lo != 13 || !math.IsInf(median.Hi, 1) {
		t.Errorf("median %+v, want 23 from 13 on", median)
	}
}

func TestLogRankOfATextbook(t *testing.T) {
	// Its chi-square is 16.79.
	if p := LogRank(treated, placebo); !near(p, 4.17e-5, 1e-6) {
		t.Errorf("p = %v", p)
	}
	if p := LogRank(placebo, placebo); p != 1 {
		t.Errorf("p = %v of a set with itself", p)
	}
	if p := LogRank(weeks(-3, -4), weeks(-5)); !math.IsNaN(p) {
		t.Errorf("p = %v where nothing ended", p)
	}
}

func TestSurvivalsAtTheEdge(t *testing.T) {
	all := KaplanMeier(weeks(1, 2, 3), Options{})
	if last := len(all.Share) - 1; all.Share[last] != 0 || all.Lo[last] != 0 || all.Hi[last] != all.Hi[last-1] {
		t.Errorf("where all ended: %+v", all)
	}
	if q := all.Quantile(0.5); q.Center != 2 {
		t.Errorf("the median of 1, 2, 3 is %+v", q)
	}
	none := KaplanMeier(weeks(-1, -2), Options{})
	if q := none.Quantile(0.5); !math.IsInf(q.Center, 1) || none.Events != 0 {
		t.Errorf("where none ended: %+v", q)
	}
	if s := KaplanMeier(nil, Options{}); len(s.Warnings) != 1 || s.Quantile(0.5).Bounded() {
		t.Errorf("of nothing: %+v", s)
	}
	if s := KaplanMeier([]Lifetime{{math.NaN(), false}, {1, false}}, Options{}); s.N != 1 || s.Warnings[0].Code != NotNumbers {
		t.Errorf("of what is no number: %+v", s)
	}
}

// Without censoring the estimate is the share of samples beyond each.
func TestKaplanMeierIsTheECDFWithoutCensoring(t *testing.T) {
	values := upTo(50)
	var list []Lifetime
	for _, v := range values {
		list = append(list, Lifetime{Time: v})
	}
	s := KaplanMeier(list, Options{})
	x, share := ECDF(values, 0)
	for i := range x {
		if s.Times[i] != x[i] || !near(s.Share[i], 1-share[i], 1e-12) {
			t.Errorf("%v at %v, want %v at %v", s.Share[i], s.Times[i], 1-share[i], x[i])
		}
	}
}
