package stat

import (
	"cmp"
	"math"
	"slices"
)

// A Trend says whether and how fast y changes with x.
type Trend struct {
	// N counts the points, Effective the independent ones that they count for.
	N, Effective int
	// Slope is the median slope between any two points, in units of y for each
	// unit of x.
	Slope Interval
	// Tau is Kendall's rank correlation, from -1 (always falls) to 1.
	Tau float64
	// P is the probability of at least as much of a trend by chance, two sided.
	P        float64
	Verdict  Verdict
	Warnings []Warning
}

const (
	// needForTrend is the number of points from which on the normal
	// distribution is near enough to that of Kendall's score.
	needForTrend = 10
	// mostForTrend bounds the number of points, as the work grows with its
	// square. More are averaged with their neighbours.
	mostForTrend = 1000
)

// FindTrend looks for a trend of y over x, which must be equally long. A point
// that is not finite is left out. Confidence is that of the slope's bounds; a
// trend is shown where P is below the rest. 0 means DefaultConfidence.
//
// The slope is that of H. Theil (1950) and P. K. Sen, "Estimates of the
// Regression Coefficient Based on Kendall's Tau", Journal of the American
// Statistical Association 63, 1968; the test is that of H. B. Mann,
// "Nonparametric Tests Against Trend", Econometrica 13, 1945. What points over
// time have in common with their neighbours looks like a trend: the variance of
// the score grows with the autocorrelation of the ranks of what the slope leaves
// over, after K. H. Hamed and A. R. Rao, "A Modified Mann-Kendall Trend Test for
// Autocorrelated Data", Journal of Hydrology 204, 1998. Autocorrelation is only
// seen in twenty points and more, and that of points which are alike over a
// tenth of their whole length is underestimated.
func FindTrend(x, y []float64, confidence float64) Trend {
	confidence = confidenceOr(confidence)
	t := Trend{Slope: unknown(), Tau: math.NaN(), P: math.NaN(), Verdict: TooFew}
	points, missing := pointsOf(x, y)
	t.N, t.Effective = len(points), len(points)
	if missing > 0 {
		t.Warnings = append(t.Warnings, Warning{Code: NotNumbers, Have: missing})
	}
	points = thinned(points)
	slopes, score := slopesOf(points)
	if len(slopes) == 0 {
		t.Warnings = append(t.Warnings, Warning{Code: NoSamples})
		return t
	}
	t.Slope.Center = middle(slopes)
	if len(points) < needForTrend {
		t.Warnings = append(t.Warnings, Warning{Code: NeedMore, What: "a trend", Need: needForTrend, Have: len(points)})
		return t
	}
	t.Tau = float64(score) / float64(len(slopes))
	factor := inefficiency(residualRanks(points, t.Slope.Center), ofScore(len(points)))
	if factor > 1 {
		t.Effective = countAs(len(points), factor)
		t.Warnings = append(t.Warnings, Warning{Code: NeighboursAlike, Of: len(points), Have: t.Effective})
	}
	deviation := math.Sqrt(scoreVariance(points) * factor)
	if deviation == 0 {
		t.P, t.Verdict = 1, NotShown
		t.Warnings = append(t.Warnings, Warning{Code: AllEqual})
		return t
	}
	t.bound(slopes, twoSided(confidence)*deviation, confidence)
	// Scores are integers: half a step less is the nearer one.
	t.P = twoSidedP(max(0, math.Abs(float64(score))-1) / deviation)
	t.Verdict = NotShown
	if t.P <= 1-confidence {
		t.Verdict = Shown
	}
	return t
}

// bound takes the slopes that lie half a width of the score to both sides of
// the middle one.
func (t *Trend) bound(slopes []float64, width, confidence float64) {
	m := float64(len(slopes))
	lo, hi := int(math.Floor((m-width)/2)), int(math.Ceil((m+width)/2))+1
	t.Slope.Lo, t.Slope.Hi, t.Slope.Confidence = math.Inf(-1), math.Inf(1), confidence
	if lo >= 1 && hi <= len(slopes) {
		t.Slope.Lo, t.Slope.Hi = slopes[lo-1], slopes[hi-1]
	}
}

type point struct{ x, y float64 }

// pointsOf are the points that are finite, by x.
func pointsOf(x, y []float64) (points []point, missing int) {
	for i := range min(len(x), len(y)) {
		if d := x[i] - x[i] + y[i] - y[i]; d != 0 { // NaN, from either
			missing++
			continue
		}
		points = append(points, point{x[i], y[i]})
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	return points, missing + max(len(x), len(y)) - min(len(x), len(y))
}

// thinned averages neighbours where there are too many points.
func thinned(points []point) []point {
	n := len(points)
	if n <= mostForTrend {
		return points
	}
	thin := make([]point, mostForTrend)
	for i := range thin {
		from, to := i*n/mostForTrend, (i+1)*n/mostForTrend
		for k, p := range points[from:to] {
			thin[i].x += (p.x - thin[i].x) / float64(k+1)
			thin[i].y += (p.y - thin[i].y) / float64(k+1)
		}
	}
	return thin
}

// slopesOf are the slopes between any two points apart in x, sorted, and
// Kendall's score: how many rise, less how many fall.
func slopesOf(points []point) (slopes []float64, score int) {
	for i, a := range points {
		for _, b := range points[i+1:] {
			if a.x == b.x {
				continue
			}
			slopes = append(slopes, (b.y-a.y)/(b.x-a.x))
			score += cmp.Compare(b.y, a.y)
		}
	}
	slices.Sort(slopes)
	return slopes, score
}

// scoreVariance is that of Kendall's score between independent points, ties in
// both directions included (M. G. Kendall, "Rank Correlation Methods", 1970).
func scoreVariance(points []point) float64 {
	n := float64(len(points))
	xs, ys := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		xs[i], ys[i] = p.x, p.y
	}
	x1, x2, x3 := ties(xs)
	y1, y2, y3 := ties(ys)
	variance := (n*(n-1)*(2*n+5) - x1 - y1) / 18
	variance += x2 * y2 / (2 * n * (n - 1))
	variance += x3 * y3 / (9 * n * (n - 1) * (n - 2))
	return max(0, variance)
}

// ties sums t(t-1)(2t+5), t(t-1) and t(t-1)(t-2) over the groups of t equal
// values.
func ties(values []float64) (first, second, third float64) {
	counts := map[float64]float64{}
	for _, v := range values {
		counts[v]++
	}
	for _, t := range counts {
		first += t * (t - 1) * (2*t + 5)
		second += t * (t - 1)
		third += t * (t - 1) * (t - 2)
	}
	return first, second, third
}

// residualRanks are the ranks of what a slope leaves over, in the order of x.
func residualRanks(points []point, slope float64) []float64 {
	residuals := make([]float64, len(points))
	for i, p := range points {
		residuals[i] = p.y - slope*p.x
	}
	doubled, _ := doubledRanks(residuals, nil)
	sorted := slices.Sorted(slices.Values(residuals))
	ranks := make([]float64, len(points))
	for i, v := range residuals {
		at, _ := slices.BinarySearch(sorted, v)
		ranks[i] = float64(doubled[at]) / 2
	}
	return ranks
}

// ofScore are the weights of autocorrelations in the variance of Kendall's
// score of n points, of Hamed and Rao.
func ofScore(n int) func(lag int) float64 {
	f := float64(n)
	return func(lag int) float64 {
		rest := f - float64(lag)
		return rest * (rest - 1) * (rest - 2) / (f * (f - 1) * (f - 2))
	}
}
