package detection

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/gatemark/gatemark/internal/kubetest"
)

// whole tells whether the whole matrix is asked for, and not what fits into
// every run of the tests.
func whole() bool { return os.Getenv("GATEMARK_INSTRUMENT") == "whole" }

// open starts truth on a cluster of the test's own.
func open(t *testing.T, replicas int) *Bench {
	t.Helper()
	c, cluster := kubetest.Start(t)
	b, err := Open(t.Context(), c, cluster.AuditLog(), replicas, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// line tries a row in a size.
func line(t *testing.T, b *Bench, r Row, s Size) Line {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	began := time.Now()
	tried, err := b.Try(ctx, Try{Scenario: r.Scenario, Parameters: r.parameters(s), Faults: s.Faults, Rival: r.Rival, Workloads: r.Workloads, Metered: r.Metered})
	if err != nil {
		t.Fatalf("%s, %s: %v", r.Wrong, s.Name, err)
	}
	l := Line{Row: r, Size: s, Invalid: len(tried.Invalid), Took: time.Since(began)}
	l.Verdict, l.Sentence = r.Judge(tried.Trial)
	t.Logf("%s after %s: %s", l.Verdict, l.Took.Round(100*time.Millisecond), l.Sentence)
	for _, reason := range tried.Invalid {
		t.Logf("  an attempt was invalid: %s", reason)
	}
	return l
}

// cleanEach is how often each clean row is tried: 5 times, and so often that
// there are at least 30 trials in all.
func cleanEach(rows int) int { return max(5, (30+rows-1)/rows) }

// TestMatrix: what is wrong is found, and what is not is not. A row can be
// tried alone: -run 'TestMatrix/attached-routes/only_the_first'.
func TestMatrix(t *testing.T) {
	b := open(t, 2)
	// What fits into every run of the tests is an eighth of the rows, and the
	// first clean row of each scenario.
	cleanTrials, each, every := 1, 1, 8
	if whole() {
		cleanTrials, each, every = cleanEach(len(Clean())), 3, 1
	}
	var lines []Line
	try := func(r Row, s Size) {
		t.Run(fmt.Sprintf("%s/%s/%s", r.Scenario, r.Wrong, s.Name), func(t *testing.T) {
			l := line(t, b, r, s)
			if l.Verdict != Found && !whole() {
				// One stall of a machine that others use too must not fail a
				// commit. The whole matrix gets no second try.
				l = line(t, b, r, s)
			}
			if lines = append(lines, l); l.Verdict == Unclear && !whole() {
				t.Skipf("this machine cannot tell now: %s", l.Sentence)
			} else if l.Verdict != Found {
				t.Errorf("%s: %s", l.Verdict, l.Sentence)
			}
		})
	}
	for i, r := range Matrix() {
		if i%every != 0 {
			continue
		}
		for _, s := range r.Sizes[:each] { // the smallest is the hardest to find
			try(r, s)
		}
	}
	seen := map[string]bool{}
	for _, r := range Clean() {
		if seen[r.Scenario] && !whole() {
			continue
		}
		seen[r.Scenario] = true
		for range cleanTrials {
			try(r, r.Sizes[0])
		}
	}
	var table bytes.Buffer
	if err := Write(&table, lines); err != nil {
		t.Fatal(err)
	}
	t.Logf("the matrix:\n%s", &table)
}
