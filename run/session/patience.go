package session

import (
	"fmt"
	"time"
)

// The limits of a session's patience.
const (
	// lostLimit is how long a runner may be silent, while the API server
	// answers, before it counts as lost.
	lostLimit = 30 * time.Second
	// awayLimit is how long the API server may be out of reach. The runner goes
	// on meanwhile; but a cluster may also be gone for good.
	awayLimit = 2 * time.Minute
	// damageLimit is how long a runner that answers may fail to hand over a
	// trial.
	damageLimit = 2 * time.Minute
)

// limits are those above, unless a test is in a hurry.
type limits struct {
	lost, away, damage time.Duration
	// pause is between two tries at a range of a file; 0 is transfer's own.
	pause time.Duration
}

func (l limits) orDefaults() limits {
	if l == (limits{}) {
		return limits{lost: lostLimit, away: awayLimit, damage: damageLimit}
	}
	return l
}

// patience tells troubles that may pass from those that will not. Each is
// counted from its beginning; an end of it begins anew.
type patience struct {
	limits
	silent, away, damaged time.Time
}

// answered: the runner told its status.
func (p *patience) answered() { p.silent, p.away = time.Time{}, time.Time{} }

// whole: everything that it finished is here.
func (p *patience) whole() { p.damaged = time.Time{} }

// runnerSilent reports whether the runner, which the API server did not reach,
// counts as lost.
func (p *patience) runnerSilent() (lost bool) {
	p.away = time.Time{}
	return over(&p.silent, p.lost)
}

// clusterAway returns an error when the API server has been out of reach for
// too long.
func (p *patience) clusterAway(cause error) error {
	p.silent = time.Time{}
	if !over(&p.away, p.limits.away) {
		return nil
	}
	return fmt.Errorf("the cluster was out of reach for %s: %w", p.limits.away, cause)
}

// transferDamaged returns an error when a trial could not be brought home for
// too long.
func (p *patience) transferDamaged(cause error) error {
	if !over(&p.damaged, p.damage) {
		return nil
	}
	return fmt.Errorf("a finished trial could not be brought home for %s: %w", p.damage, cause)
}

// over begins to count, and reports whether the limit has passed since.
func over(since *time.Time, limit time.Duration) bool {
	if since.IsZero() {
		*since = time.Now()
	}
	return time.Since(*since) >= limit
}
