package routepropagation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/scenario"
)

// takeTurns makes the wanted kinds of change but new routes, in rounds, so that
// whatever drifts meets all of them alike.
func (p *propagation) takeTurns(ctx context.Context) error {
	wanted := p.Values.List("changes", kindNames(p.route()))
	if len(wanted) == 1 && wanted[0] == kindCreate {
		return nil
	}
	both, err := setPair(ctx, p.Trial)
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	subjects := p.subjects(wanted, both)
	for i, s := range subjects {
		p.Progress("changes: making what is changed, %d of %d", i+1, len(subjects))
		begin, err := s.begin()
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
		if err := p.make(ctx, s, begin, false); err != nil {
			return err
		}
	}
	rounds := p.Values.Int("rounds")
	for round := range rounds {
		for _, s := range subjects {
			p.Progress("changes: round %d of %d, %s", round+1, rounds, strings.Join(s.kinds, " and "))
			for i := range s.kinds {
				next, err := s.step(round*len(s.kinds) + i)
				if err != nil {
					return scenario.Invalid{Reason: err}
				}
				if err := p.make(ctx, s, next, slices.Contains(wanted, next.kind)); err != nil {
					return fmt.Errorf("after %d changes: %w", len(p.changes), err)
				}
			}
		}
	}
	return nil
}

// make makes a change of a subject that is not lost. Each is waited for in the
// same way, whether it is wanted as a result or not: the one after it begins
// where everything is as this one has left it.
func (p *propagation) make(ctx context.Context, s *subject, next step, wanted bool) error {
	if s.lost {
		return nil
	}
	change, err := p.one(ctx, next, p.Values.Duration("limit"))
	if errors.Is(err, errUnready) && ctx.Err() == nil {
		p.Broken("change-ignored")
		p.unready = append(p.unready, err.Error())
		s.lost = true
		return nil
	}
	if err != nil {
		return err
	}
	censored := change.outcome.Censored()
	s.lost = len(censored) > 0
	switch {
	case wanted:
		p.changes = append(p.changes, change)
	case s.lost:
		p.Broken("change-ignored")
		p.unready = append(p.unready, fmt.Sprintf("route %s, after %s: %s", next.name, next.kind, strings.Join(censored, ", ")))
	}
	return nil
}
