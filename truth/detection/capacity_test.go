package detection

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/truth/fault"
)

// TestKnownCapacity: a gateway that serves so many requests a second, and refuses
// what is more, has that capacity: within 3 %, each time. In make test-capacity
// it is tried at higher rates, 10 times each, for longer than a matrix may take.
func TestKnownCapacity(t *testing.T) {
	b := open(t, 1)
	limits, times := []int64{600}, 1
	set := map[string]any{"start": 300, "most": 500_000, "resolution": 0.01, "events": 0, "duration": "1s", "confirm": "2s"}
	long := os.Getenv("GATEMARK_INSTRUMENT") == "capacity"
	if long {
		limits, times = []int64{3000, 7500}, 10
		set["start"], set["duration"], set["confirm"] = 1000, "2s", "5s"
	}
	for _, limit := range limits {
		for n := range times {
			t.Run(fmt.Sprintf("%d/%d", limit, n+1), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				try := Try{Scenario: "capacity", Parameters: searching(set), Faults: fault.Faults{RefusesAbove: limit}}
				found, answer := known(ctx, t, b, try)
				if !long && !near(found, limit) {
					t.Logf("%s: once more, since a stall must not fail a commit", answer)
					found, answer = known(ctx, t, b, try)
				}
				if !long && found == 0 { // no capacity is claimed
					t.Skipf("this machine cannot tell now: %s", answer)
				}
				if t.Logf("limit %d: %s", limit, answer); !near(found, limit) {
					t.Errorf("limit %d: %s", limit, answer)
				}
			})
		}
	}
}

// known is the capacity that a trial finds, 0 where it finds none, and its
// answer in words.
func known(ctx context.Context, t *testing.T, b *Bench, try Try) (float64, string) {
	t.Helper()
	tried, err := b.Try(ctx, try)
	if err != nil {
		t.Fatal(err)
	}
	if tried.Outcome != result.OK {
		return 0, fmt.Sprintf("%s: %s", tried.Outcome, tried.Reason)
	}
	for _, table := range tried.Tables {
		if table.Name == "steps" {
			for _, row := range table.Rows {
				t.Log(row)
			}
		}
	}
	answer := tried.Notes[len(tried.Notes)-1]
	for _, table := range tried.Tables {
		if table.Name == "capacity" {
			answer = fmt.Sprint(table.Rows[0])
		}
	}
	if m, ok := tried.Metrics["capacity"]; ok {
		return *m.Value, answer
	}
	return 0, answer
}

func near(found float64, limit int64) bool {
	return math.Abs(found/float64(limit)-1) <= 0.03
}
