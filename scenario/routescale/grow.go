package routescale

import (
	"context"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/measure/usage"
)

// A step is routes that were created together.
type step struct {
	// first is the number of the first, size how many routes there were after it.
	first, size int
	sent        time.Time // of the first write
	answered    time.Time // of the last one
	// accepted and served are when the last of its routes was; zero where one was
	// not within the limit.
	accepted, served time.Time
	// unaccepted is how many were not accepted, and unserved how many did not
	// answer rightly on every replica.
	unaccepted, unserved int
	// from and to are the edges of its pause.
	from, to time.Time
	window   *usage.Window
}

func (p *step) converged() bool { return p.unaccepted == 0 && p.unserved == 0 }

// grow creates all routes in steps. After a step that did not come into force,
// it ends at a ceiling, and otherwise creates the others at once: what they
// cost together still counts.
func (s *scaling) grow(ctx context.Context) error {
	s.enter(ctx, growing)
	for i := range s.Values.Int("steps") {
		n := s.fresh(i)
		if n == 0 {
			continue
		}
		if err := s.step(ctx, n); err != nil {
			return err
		}
		last := s.steps[len(s.steps)-1]
		if !last.converged() {
			if err := s.tryCeiling(ctx); err != nil || s.ceiling.is() {
				return err
			}
		}
		if len(s.steps) == 1 && last.converged() {
			if err := s.trySingles(withFew)(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// fresh is how many routes the i-th step creates. There may be more already than
// it asks for: those by which a ceiling was looked for.
func (s *scaling) fresh(i int) int {
	all, steps := total(s.Values), s.Values.Int("steps")
	upTo := all * (i + 1) / steps
	if len(s.steps) > 0 && !s.steps[len(s.steps)-1].converged() {
		upTo = all
	}
	return max(0, upTo-len(s.routes))
}

// step creates more routes, and waits until all of them are in force.
func (s *scaling) step(ctx context.Context, n int) error {
	p := &step{first: len(s.routes), size: len(s.routes) + n, sent: time.Now()}
	s.steps = append(s.steps, p)
	goal := total(s.Values)
	err := s.create(ctx, n, func(done int) {
		if done%100 == 0 {
			s.Progress("creating routes: %d of %d", p.first+done, goal)
		}
	})
	if err != nil {
		return fmt.Errorf("create routes from the %dth on: %w", p.first, err)
	}
	p.answered = time.Now()
	s.Progress("waiting for %d routes", p.size)
	deadline := p.answered.Add(s.Values.Duration("limit"))
	fresh := s.routes[p.first:p.size]
	served, wrong, err := s.served(ctx, fresh, deadline)
	if err != nil {
		return err
	}
	p.served, p.unserved = served, len(wrong)
	if p.accepted, p.unaccepted, err = s.accepted(ctx, fresh, deadline); err != nil {
		return err
	}
	p.from = time.Now()
	err = pause(ctx, pauseOf(s.Values))
	p.to = time.Now()
	return err
}

// The pauses between two looks: as long as a look took, within these.
const leastPause, mostPause = 20 * time.Millisecond, time.Second

// served waits until every route is answered as it is to be, on every replica.
// at is when the last one was seen to be, or zero; wrong has those that were
// not, with what came instead.
func (s *scaling) served(ctx context.Context, routes []*route, deadline time.Time) (at time.Time, wrong map[*route]string, err error) {
	asker := s.stage.Asker()
	defer asker.Close()
	for pending := routes; ; {
		began := time.Now()
		wrong := map[*route]string{}
		if err := asker.All(ctx, s.model.expectations(pending), func(i int, replica, what string) {
			if what != "" {
				wrong[pending[i]] = what + " on " + replica
			}
		}); err != nil {
			return at, nil, err
		}
		if len(wrong) == 0 {
			return time.Now(), nil, nil
		}
		if time.Now().After(deadline) {
			return time.Time{}, wrong, nil
		}
		var left []*route
		for _, r := range pending {
			if wrong[r] != "" {
				left = append(left, r)
			}
		}
		pending = left
		if err := pause(ctx, min(max(leastPause, time.Since(began)), mostPause)); err != nil {
			return at, nil, err
		}
	}
}

// accepted waits until the status of every route is current. at is when the
// last one was, or zero, and missing how many are not.
func (s *scaling) accepted(ctx context.Context, routes []*route, deadline time.Time) (at time.Time, missing int, err error) {
	for {
		at, missing = latest(s.status.Instants(), routes)
		if missing == 0 {
			return at, 0, nil
		}
		if time.Now().After(deadline) {
			return time.Time{}, missing, nil
		}
		if err := pause(ctx, 5*leastPause); err != nil {
			return at, missing, err
		}
	}
}

// latest is the last instant of routes, and how many have none.
func latest(instants map[string]time.Time, routes []*route) (at time.Time, missing int) {
	for _, r := range routes {
		is, ok := instants[r.name]
		switch {
		case !ok:
			missing++
		case is.After(at):
			at = is
		}
	}
	return at, missing
}
