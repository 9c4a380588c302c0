package load

import (
	"math"
	"slices"
	"testing"
	"time"
)

var shapes = map[string]Profile{
	"constant": Steady(5000, 2*time.Second),
	"steps":    {{100, 100, time.Second}, {4000, 4000, 500 * time.Millisecond}, {0, 0, time.Second}, {10, 10, time.Second}},
	"ramp":     {{0, 2000, 2 * time.Second}, {2000, 100, time.Second}},
	"odd":      {{333.3, 333.3, 777 * time.Millisecond}},
}

// all lists a schedule's instants by number, put together from its parts.
func all(t *testing.T, p Profile, a Arrival, seed uint64, parts int) map[uint64]time.Duration {
	out := map[uint64]time.Duration{}
	for part := range parts {
		arrivals := NewArrivals(p, a, seed, part, parts)
		last := time.Duration(-1)
		for {
			n, due, ok := arrivals.Next()
			if !ok {
				break
			}
			if _, twice := out[n]; twice || due < last || due > p.Duration() {
				t.Fatalf("%v: request %d at %v after %v; twice: %v", a, n, due, last, twice)
			}
			out[n], last = due, due
		}
	}
	return out
}

// TestParts: however a schedule is shared, each request comes exactly once and
// at the same instant. Poisson arrivals are other ones for other parts, and as
// many on average.
func TestParts(t *testing.T) {
	for name, p := range shapes {
		for _, a := range []Arrival{Even, Uniform} {
			whole := all(t, p, a, 7, 1)
			if want := int(math.Ceil(p.Requests() - 1e-9)); len(whole) != want && a == Even {
				t.Errorf("%s: %d requests, want %d", name, len(whole), want)
			}
			for _, parts := range []int{2, 3, 16} {
				shared := all(t, p, a, 7, parts)
				for n, due := range whole {
					if shared[n] != due {
						t.Fatalf("%s, %v: request %d of %d parts is due at %v, alone at %v", name, a, n, parts, shared[n], due)
					}
				}
				if len(shared) != len(whole) {
					t.Errorf("%s, %v: %d requests in %d parts, %d alone", name, a, len(shared), parts, len(whole))
				}
			}
		}
	}
}

// TestRateIsKept: in every stretch of a schedule there are as many requests as
// the rate's integral says.
func TestRateIsKept(t *testing.T) {
	for name, p := range shapes {
		for _, a := range []Arrival{Even, Uniform} {
			var due []time.Duration
			for _, d := range all(t, p, a, 1, 1) {
				due = append(due, d)
			}
			slices.Sort(due)
			for at := time.Duration(0); at < p.Duration(); at += 13 * time.Millisecond {
				n, _ := slices.BinarySearch(due, at)
				if want := integral(p, at); math.Abs(float64(n)-want) > 1.001 {
					t.Errorf("%s, %v: %d requests before %v, want %.2f", name, a, n, at, want)
				}
			}
		}
	}
}

// integral is how many requests are due before an instant, summed up in the
// plainest way.
func integral(p Profile, at time.Duration) float64 {
	n := 0.0
	for _, s := range p {
		t := min(at, s.Duration)
		to := s.From + (s.To-s.From)*float64(t)/float64(s.Duration)
		n += (s.From + to) / 2 * t.Seconds()
		if at -= t; at <= 0 {
			break
		}
	}
	return n
}

// TestPoisson: gaps are exponential: their mean and deviation are both the
// rate's inverse, and gaps above it are a share of 1/e.
func TestPoisson(t *testing.T) {
	for _, parts := range []int{1, 4} {
		var due []time.Duration
		for part := range parts {
			a := NewArrivals(Steady(10_000, 20*time.Second), Poisson, 42, part, parts)
			for _, d, ok := a.Next(); ok; _, d, ok = a.Next() {
				due = append(due, d)
			}
		}
		slices.Sort(due)
		var sum, squares, above float64
		for i := 1; i < len(due); i++ {
			gap := (due[i] - due[i-1]).Seconds() * 10_000
			sum, squares = sum+gap, squares+gap*gap
			if gap > 1 {
				above++
			}
		}
		n := float64(len(due) - 1)
		mean := sum / n
		deviation := math.Sqrt(squares/n - mean*mean)
		if math.Abs(mean-1) > 0.01 || math.Abs(deviation-1) > 0.02 || math.Abs(above/n-1/math.E) > 0.005 {
			t.Errorf("%d parts: %v gaps of mean %.4f, deviation %.4f, %.4f above 1", parts, n, mean, deviation, above/n)
		}
	}
}

func TestParseProfile(t *testing.T) {
	for text, want := range map[string]Profile{
		"5000":                          {{5000, 5000, time.Minute}},
		"0.5":                           {{0.5, 0.5, time.Minute}},
		"1000/30s, 1000..5000/1m,10/2s": {{1000, 1000, 30 * time.Second}, {1000, 5000, time.Minute}, {10, 10, 2 * time.Second}},
	} {
		if got, err := ParseProfile(text, time.Minute); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "fast", "10/", "10/5", "a..5/1s", "5..b/1s", "1000/30s,"} {
		if got, err := ParseProfile(text, time.Minute); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestExpand(t *testing.T) {
	for text, want := range map[string][]string{
		"plain":              {"plain"},
		"a{1..3}":            {"a1", "a2", "a3"},
		"{08..10}":           {"08", "09", "10"},
		"{a,b}-{0..1}":       {"a-0", "a-1", "b-0", "b-1"},
		"x" + Number + "{a}": {"x" + Number + "a"},
		"{a,b}?n=" + Number:  {"a?n=" + Number, "b?n=" + Number},
	} {
		if got, err := expand(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"{", "{1..}", "{3..1}", "{0..99999999}", "{0..9999}{0..9999}"} {
		if got, err := expand(text); err == nil {
			t.Errorf("%q was read as %d texts", text, len(got))
		}
	}
}

func TestApportion(t *testing.T) {
	for _, c := range []struct {
		n     int
		share []float64
		want  []int
	}{
		{4, []float64{1}, []int{4}},
		{8, []float64{.25, .75}, []int{2, 6}},
		{3, []float64{.98, .01, .01}, []int{1, 1, 1}},
		{100, []float64{.98, .01, .01}, []int{98, 1, 1}},
	} {
		have := make([]int, len(c.share))
		for _, e := range apportion(c.n, c.share) {
			have[e]++
		}
		if !slices.Equal(have, c.want) {
			t.Errorf("%d by %v: got %v, want %v", c.n, c.share, have, c.want)
		}
	}
}
