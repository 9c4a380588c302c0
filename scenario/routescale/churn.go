package routescale

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// churned is what became of the changes.
type churned struct {
	// asked is the rate that was asked for; done how many changes were answered
	// within took.
	asked float64
	done  int
	took  time.Duration
	// settled is how long after the last change every route was as it is to be;
	// +Inf where one was not within the limit. stale are these, with what came
	// instead, of so many that were waited for.
	settled float64
	stale   map[*route]string
	waited  int
}

func (c *churned) rate() float64 { return float64(c.done) / c.took.Seconds() }

// churn replaces endpoints and edits routes, in turn, each due by the clock.
// Single changes are timed meanwhile.
func (s *scaling) churn(ctx context.Context) error {
	if s.Values.Duration("churn") == 0 {
		return nil
	}
	if s.ceiling.is() {
		s.Note("Routes were not changed at a constant rate, and no plane was restarted: no new route came into force any more.")
		return nil
	}
	changed := s.changeable()
	if len(changed) == 0 {
		s.Note("There was no route to change at a constant rate: none was served beside the %d of single changes.", s.Values.Int("singles"))
		return nil
	}
	s.enter(ctx, changing)
	c := &s.churned
	c.asked = float64(s.Values.Int("rate"))
	began := time.Now()
	both, failed := errgroup.WithContext(ctx)
	both.Go(func() error { return s.change(failed, changed, began) })
	both.Go(func() error {
		if err := pause(failed, s.Values.Duration("churn")/4); err != nil {
			return err
		}
		return s.trySingles(whileChanging)(failed)
	})
	if err := both.Wait(); err != nil {
		return err
	}
	of := s.of(changing)
	of.changes = c.done
	last := time.Now()
	s.Progress("waiting for the last changes")
	waited := s.waited()
	c.waited = len(waited)
	at, stale, err := s.served(ctx, waited, last.Add(s.Values.Duration("limit")))
	if err != nil {
		return err
	}
	c.settled, c.stale = at.Sub(last).Seconds(), stale
	if len(stale) > 0 {
		c.settled = math.Inf(1)
		s.Broken("stale-after-changes")
	}
	if _, err := s.sweep(ctx, "after the changes"); err != nil {
		return err
	}
	return s.resting(atRestChanged)(ctx)
}

// changeable are the routes that are changed: single changes have their own.
func (s *scaling) changeable() []*route {
	all := s.waited()
	return all[min(s.Values.Int("singles"), len(all)):]
}

// waited are the routes that are there, and were in force.
func (s *scaling) waited() []*route {
	var all []*route
	for _, r := range s.living() {
		if !r.unserved {
			all = append(all, r)
		}
	}
	return all
}

// change makes changes until the time is over. One that is due while all writers
// are busy waits, and the rate that is achieved says so.
func (s *scaling) change(ctx context.Context, routes []*route, began time.Time) error {
	c := &s.churned
	length := s.Values.Duration("churn")
	var mu sync.Mutex
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(s.Values.Int("writers"))
	for k := 0; ; k++ {
		due := time.Duration(float64(k) / c.asked * float64(time.Second))
		if due >= length || time.Since(began) >= length || writing.Err() != nil {
			break
		}
		if err := pause(writing, due-time.Since(began)); err != nil {
			break
		}
		group.Go(func() error {
			r := routes[k%len(routes)]
			write := s.edit
			if s.perSet == 0 && (k+k/len(routes))%2 == 1 { // the other one when its turn comes again
				write = s.replace
			}
			if err := write(writing, r); err != nil {
				return fmt.Errorf("after %d changes: %w", k, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if c.done++; c.done%100 == 0 {
				s.Progress("changing endpoints and routes: %d changes, %s of %s", c.done, time.Since(began).Round(time.Second), length)
			}
			return nil
		})
	}
	err := group.Wait()
	c.took = time.Since(began)
	if err == nil {
		err = ctx.Err()
	}
	return err
}
