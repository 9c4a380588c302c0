package detection

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
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

// benches is how many trials of the whole matrix run side by side: they wait
// for most of their time.
const benches = 4

// TestMatrix: what is wrong is found, and what is not is not. A row can be
// tried alone: -run 'TestMatrix/attached-routes/only_the_first'.
func TestMatrix(t *testing.T) {
	m := &matrix{rows: append(Matrix(), Clean()...), pool: make(chan *Bench, benches)}
	m.pool <- open(t, 2)
	if whole() {
		for range benches - 1 {
			m.pool <- open(t, 2)
		}
	}
	for _, scenario := range m.scenarios() {
		t.Run(scenario, func(t *testing.T) { m.try(t, scenario) })
	}
	m.tryAgain(t)
	var table bytes.Buffer
	if err := Write(&table, m.lines); err != nil {
		t.Fatal(err)
	}
	t.Logf("the matrix:\n%s", &table)
}

// A matrix is being tried.
type matrix struct {
	rows []Row
	pool chan *Bench
	mu   sync.Mutex
	// again are lines that were not found, and that something may have
	// disturbed.
	lines, again []Line
}

func (m *matrix) scenarios() []string {
	var all []string
	for _, r := range m.rows {
		if !slices.Contains(all, r.Scenario) {
			all = append(all, r.Scenario)
		}
	}
	return all
}

// try tries the rows of a scenario: first those that are to be alone, then the
// others side by side.
func (m *matrix) try(t *testing.T, scenario string) {
	clean := len(Clean())
	for _, r := range m.rows {
		sizes := r.Sizes
		switch {
		case r.Scenario != scenario || !whole() && !r.Short:
			continue
		case !whole():
			sizes = sizes[:1] // the smallest is the hardest to find
		case r.Finds == "" && !r.Metered: // so often that there are 30 trials in all
			sizes = slices.Repeat(sizes, (30+clean-1)/clean)
		}
		for _, s := range sizes {
			t.Run(r.Wrong+"/"+s.Name, func(t *testing.T) {
				if !r.alone() {
					t.Parallel()
				}
				b := <-m.pool
				defer func() { m.pool <- b }()
				m.done(t, line(t, b, r, s))
			})
		}
	}
}

// done takes a line. It is tried again, once and alone, where it was no evidence,
// and where something ran beside it; and in every run of the tests, where one
// stall of a machine that others use too must not fail a commit.
func (m *matrix) done(t *testing.T, l Line) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.Verdict != Found && !l.Again && (!whole() || !l.alone() || l.Verdict == Unclear) {
		m.again = append(m.again, l)
		return
	}
	m.lines = append(m.lines, l)
	switch {
	case l.Verdict == Found:
	case l.Verdict == Unclear && !whole():
		t.Skipf("this machine cannot tell now: %s", l.Sentence)
	default:
		t.Errorf("%s: %s", l.Verdict, l.Sentence)
	}
}

func (m *matrix) tryAgain(t *testing.T) {
	b := <-m.pool
	defer func() { m.pool <- b }()
	for _, before := range m.again {
		t.Run(fmt.Sprintf("%s/%s/%s/again", before.Scenario, before.Wrong, before.Size.Name), func(t *testing.T) {
			l := line(t, b, before.Row, before.Size)
			l.Again = true
			m.done(t, l)
		})
	}
	m.again = nil
}
