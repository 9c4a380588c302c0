package attachedroutes

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

// singleHold is how long a count must stay right after a single route came or
// went: enough to see a count that overshoots at once.
const singleHold = 250 * time.Millisecond

// A single is one route that came on top of all others, or went again.
type single struct {
	more           bool
	sent, answered time.Time
	// unwatched is set where nobody waited for the count.
	unwatched bool
	// reached is when every listener counted it; zero where one did not.
	reached time.Time
}

// seconds is how long it took to be counted everywhere; +Inf where it was not.
func (s single) seconds() float64 {
	if s.reached.IsZero() {
		return math.Inf(1)
	}
	return s.reached.Sub(s.sent).Seconds()
}

// oneMore adds a route to all the others and takes it away again, some times:
// what one change costs where there are many.
func (a *attachment) oneMore(ctx context.Context) error {
	n, repeats := a.Values.Int("routes"), a.Values.Int("increments")
	for i := range repeats {
		for _, more := range []bool{true, false} {
			a.Progress("one route more and one fewer: %d of %d", i+1, repeats)
			want, write := n, a.delete
			if more {
				want, write = n+1, a.create
			}
			one := single{more: more, sent: time.Now()}
			// The number of a route that is none of the others'.
			if err := write(ctx, n+i); err != nil {
				return scenario.Invalid{Reason: fmt.Errorf("route %d on top of %d: %w", i+1, n, err)}
			}
			one.answered = time.Now()
			since := a.counts.settle(ctx, want, a.Values.Duration("limit"), singleHold, a.Progress)
			one.reached = complete(since)
			a.singles = append(a.singles, one)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if one.reached.IsZero() {
				return a.withdraw(ctx, n+i, more)
			}
		}
	}
	return nil
}

// withdraw ends the singles after one that was not counted: each of them would
// take the whole limit. The route goes, if it is there.
func (a *attachment) withdraw(ctx context.Context, i int, there bool) error {
	a.Note("After a single route that was not counted within the limit no more were tried: %d of %d.", len(a.singles), 2*a.Values.Int("increments"))
	if !there {
		return nil
	}
	gone := single{unwatched: true, sent: time.Now()}
	if err := a.delete(ctx, i); err != nil {
		return scenario.Invalid{Reason: err}
	}
	gone.answered = time.Now()
	a.singles = append(a.singles, gone)
	return nil
}

func (a *attachment) singleMetrics() {
	limit := stat.Options{Limit: a.Values.Duration("limit").Seconds()}
	var more, fewer []float64
	for _, s := range a.singles {
		switch {
		case s.unwatched:
		case s.more:
			more = append(more, s.seconds())
		default:
			fewer = append(fewer, s.seconds())
		}
	}
	n := a.Values.Int("routes")
	if len(more) > 0 {
		a.Samples("one-more", fmt.Sprintf("One route more than %d, until every listener counts it", n), more, limit)
	}
	if len(fewer) > 0 {
		a.Samples("one-fewer", fmt.Sprintf("One route fewer than %d, until every listener counts so", n+1), fewer, limit)
	}
}
