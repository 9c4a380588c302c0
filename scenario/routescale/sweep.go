package routescale

import (
	"context"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/scenario"
)

// sweepAll asks every replica for every route, once.
func (s *scaling) sweepAll(when string) func(context.Context) error {
	return func(ctx context.Context) error {
		s.Progress("asking every route, %s", when)
		_, err := s.sweep(ctx, when)
		return err
	}
}

func (s *scaling) sweep(ctx context.Context, when string) (*sweep, error) {
	living := s.living()
	swept := &sweep{when: when, at: time.Now(), routes: len(living), Sweep: scenario.Sweep{Wrong: map[string]int{}}, asked: map[*route]bool{}, bad: map[*route]bool{}}
	asker := s.stage.Asker()
	defer asker.Close()
	err := asker.All(ctx, s.model.expectations(living), func(i int, replica, wrong string) {
		swept.take(living[i], replica, wrong)
	})
	if err != nil {
		return nil, fmt.Errorf("ask every route: %w", err)
	}
	s.sweeps = append(s.sweeps, swept)
	return swept, nil
}

// A sweep is the answers when every route was asked once on every replica.
type sweep struct {
	when   string
	at     time.Time
	routes int
	scenario.Sweep
	// asked are the routes, and bad those that were answered wrongly on a replica.
	asked, bad map[*route]bool
}

func (w *sweep) take(r *route, replica, wrong string) {
	w.Asked++
	w.asked[r] = true
	if wrong == "" {
		w.Right++
		return
	}
	w.bad[r] = true
	w.Wrong[wrong]++
	if len(w.Examples) < scenario.ExcerptLines {
		w.Examples = append(w.Examples, fmt.Sprintf("%s on %s: %s", r.name, replica, wrong))
	}
}

// served is how many routes were answered rightly everywhere.
func (w *sweep) served() int { return w.routes - len(w.bad) }
