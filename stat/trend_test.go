package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func counting(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}

func TestTrendOfALine(t *testing.T) {
	x, y := counting(10), counting(10)
	times(y, 3)
	got := FindTrend(x, y, 0)
	// The score is 45 of 45, its variance 125.
	if got.Tau != 1 || got.Slope.Center != 3 || got.Slope.Lo != 3 || got.Slope.Hi != 3 || !near(got.P, 8.3e-5, 1e-6) || got.Verdict != Shown {
		t.Errorf("got %+v", got)
	}
	down := FindTrend(x, times(slices.Clone(y), -1), 0)
	if down.Tau != -1 || down.Slope.Center != -3 || down.P != got.P {
		t.Errorf("downwards: %+v", down)
	}
}

func TestTrendsOfWhatHasNone(t *testing.T) {
	flat := FindTrend(counting(30), make([]float64, 30), 0)
	if flat.Verdict != NotShown || flat.P != 1 || flat.Slope.Center != 0 {
		t.Errorf("flat: %+v", flat)
	}
	few := FindTrend(counting(9), counting(9), 0)
	if few.Verdict != TooFew || few.Slope.Center != 1 || few.Slope.Bounded() || few.Warnings[0].String() != "need >= 10 samples for a trend, have 9" {
		t.Errorf("nine points: %+v", few)
	}
	if none := FindTrend(nil, nil, 0); none.Verdict != TooFew || none.Warnings[0].Code != NoSamples {
		t.Errorf("nothing: %+v", none)
	}
	wall := FindTrend([]float64{1, 1, 1}, []float64{1, 2, 3}, 0)
	if wall.Verdict != TooFew || !math.IsNaN(wall.Slope.Center) {
		t.Errorf("all at one place: %+v", wall)
	}
	holes := FindTrend([]float64{0, 1, 2, math.NaN()}, []float64{0, math.Inf(1), 2, 3}, 0)
	if holes.N != 2 || holes.Slope.Center != 1 || holes.Warnings[0].Have != 2 {
		t.Errorf("with holes: %+v", holes)
	}
}

func TestScoreVarianceWithTies(t *testing.T) {
	// Counted out over all orders of y.
	points := []point{{1, 1}, {1, 2}, {2, 2}, {3, 2}, {4, 5}}
	var scores []float64
	permute(points, 0, func(order []point) {
		_, score := slopesOf(order)
		scores = append(scores, float64(score))
	})
	_, deviation := moments(scores)
	n := float64(len(scores))
	if want := deviation * deviation * (n - 1) / n; !near(scoreVariance(points), want, 1e-9) {
		t.Errorf("variance %v, counted %v", scoreVariance(points), want)
	}
}

// permute calls visit with every order of the points' y.
func permute(points []point, at int, visit func([]point)) {
	if at == len(points) {
		visit(points)
		return
	}
	for i := at; i < len(points); i++ {
		points[at].y, points[i].y = points[i].y, points[at].y
		permute(points, at+1, visit)
		points[at].y, points[i].y = points[i].y, points[at].y
	}
}

// Noise that drifts is called a trend no more often than chance allows, and
// would be without the correction.
func TestDriftIsNoTrend(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	const repeats, n = 200, 150
	called, uncorrected := 0, 0
	for range repeats {
		got := FindTrend(counting(n), autoregressive(random, n), 0)
		if got.Verdict == Shown {
			called++
		}
		score := got.Tau * n * (n - 1) / 2
		if math.Abs(score)/math.Sqrt(n*(n-1)*(2*n+5)/18.0) > 1.96 {
			uncorrected++
		}
	}
	if limit := atMost(repeats, 0.07); called > limit || uncorrected < 2*called {
		t.Errorf("called in %d of %d, without correction in %d", called, repeats, uncorrected)
	}
}

func TestManyPointsAreThinned(t *testing.T) {
	const n = 5000
	y := shapes[0].draw(rand.New(rand.NewPCG(2, 2)), n)
	for i := range y {
		y[i] += 0.001 * float64(i)
	}
	got := FindTrend(counting(n), y, 0)
	if got.N != n || !got.Slope.Covers(0.001) || got.Slope.Hi-got.Slope.Lo > 1e-4 || got.Verdict != Shown {
		t.Errorf("got %+v", got)
	}
}
