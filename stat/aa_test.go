package stat

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// recorded is noise of real trials: testdata/recorded.json says where from.
type recorded struct {
	From    string
	Metrics []struct {
		Name, Unit string
		// Trials has the samples of each trial, in the order in which they were
		// taken.
		Trials [][]float64
	}
}

func readRecorded(t *testing.T) recorded {
	t.Helper()
	data, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// repeat makes what one more trial of the same thing would have measured: the
// median of as many samples, in runs of neighbours as they were recorded, from
// one of the trials.
func repeat(random *rand.Rand, trials [][]float64) float64 {
	trial := trials[random.IntN(len(trials))]
	const run = 5
	var samples []float64
	for len(samples) < len(trial) {
		from := random.IntN(len(trial) - run + 1)
		samples = append(samples, trial[from:from+run]...)
	}
	slices.Sort(samples)
	return middle(samples)
}

// atMost is how many of n may be called where each is with probability p, at 95
// % one sided.
func atMost(n int, p float64) int {
	f := float64(n)
	return int(f*p + 1.645*math.Sqrt(f*p*(1-p)))
}

// A thing compared with itself differs in at most five of a hundred, each
// metric alone; and of families of metrics after Holm, at most five of a
// hundred call any difference at all.
func TestAThingIsLikeItself(t *testing.T) {
	r := readRecorded(t)
	if len(r.Metrics) < 3 {
		t.Fatalf("only %d metrics are recorded", len(r.Metrics))
	}
	const families = 200
	for _, blocks := range []int{6, 10} {
		random := rand.New(rand.NewPCG(200, uint64(blocks)))
		alone, found := make([]int, len(r.Metrics)), 0
		for range families {
			var family []Comparison
			var p []float64
			for i, m := range r.Metrics {
				var a, b []float64
				for range blocks {
					a, b = append(a, repeat(random, m.Trials)), append(b, repeat(random, m.Trials))
				}
				c := Compare(a, b, CompareOptions{})
				if c.Verdict == Shown {
					alone[i]++
				}
				family, p = append(family, c), append(p, c.P)
			}
			for i, adjusted := range Holm(p) {
				if family[i].WithP(adjusted).Verdict == Shown {
					found++
					break
				}
			}
		}
		for i, m := range r.Metrics {
			t.Logf("%d blocks, %s alone: %d of %d differ from themselves", blocks, m.Name, alone[i], families)
			if alone[i] > atMost(families, 0.05) {
				t.Errorf("%d blocks, %s: %d of %d differ from themselves", blocks, m.Name, alone[i], families)
			}
		}
		t.Logf("%d blocks, families of %d after Holm: %d of %d have a difference", blocks, len(r.Metrics), found, families)
		if found > atMost(families, 0.05) {
			t.Errorf("%d blocks: %d of %d families have a difference", blocks, found, families)
		}
	}
}
