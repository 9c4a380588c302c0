package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// takeTurns makes the wanted kinds of change but new routes, in rounds, so that
// whatever drifts meets all of them alike.
func (p *propagation) takeTurns(ctx context.Context) error {
	wanted := p.Values.list("changes", kindNames())
	if len(wanted) == 1 && wanted[0] == kindCreate {
		return nil
	}
	both, err := p.setPair(ctx)
	if err != nil {
		return Invalid{err}
	}
	subjects := p.subjects(wanted, both)
	for _, s := range subjects {
		if err := s.begin(ctx); err != nil {
			return Invalid{err}
		}
	}
	rounds := p.Values.Int("rounds")
	for round := range rounds {
		for _, s := range subjects {
			if s.lost {
				continue
			}
			p.Progress("changes: round %d of %d, %s", round+1, rounds, strings.Join(s.kinds, " and "))
			if err := p.turn(ctx, s, round, wanted); err != nil {
				return fmt.Errorf("after %d changes: %w", len(p.changes), err)
			}
		}
	}
	return nil
}

// turn makes a change of each of a subject's kinds. Those that are not wanted
// are made, and not measured.
func (p *propagation) turn(ctx context.Context, s *subject, round int, wanted []string) error {
	for i, kind := range s.kinds {
		next, err := s.step(round*len(s.kinds) + i)
		if err != nil {
			return Invalid{err}
		}
		if !slices.Contains(wanted, kind) {
			if _, err := next.write(ctx); err != nil {
				return Invalid{err}
			}
			continue
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
		p.changes = append(p.changes, change)
		if s.lost = len(change.outcome.Censored()) > 0; s.lost {
			return nil
		}
	}
	return nil
}
