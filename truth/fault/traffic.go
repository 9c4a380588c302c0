package fault

import (
	"cmp"
	"time"
)

func each(n, every int64) bool { return every > 0 && n%every == 0 }

// Refuses tells whether a replica answers its n-th request, from 1 on, with an
// error instead of serving it.
func (f Faults) Refuses(n int64) bool { return each(n, f.ErrorEvery) }

// Dead tells whether a replica leaves its n-th request without an answer.
func (f Faults) Dead(n int64) bool { return f.DeadAfter > 0 && n > f.DeadAfter }

// Drops tells whether a replica resets the connection of its n-th request.
func (f Faults) Drops(n int64) bool { return each(n, f.DropEvery) }

// Hangs is how long the n-th request of a replica waits.
func (f Faults) Hangs(n int64) time.Duration {
	if !each(n, f.HangEvery) {
		return 0
	}
	return cmp.Or(f.HangFor, time.Second)
}

// Misroutes tells whether the n-th request of a replica that matches a route is
// served by another.
func (f Faults) Misroutes(n int64) bool { return each(n, f.Misroute) }

// Warms tells whether a route that has been in force for so long still answers
// with errors.
func (f Faults) Warms(age time.Duration) bool { return age < f.ErrorsOnChange }

// Relapses tells whether a route that was first served so long ago is out of
// force again.
func (f Faults) Relapses(age time.Duration) bool { return age < f.Flaps }

// Retries is how often at most a request is sent again, that its rule wants to
// be sent again so often.
func (f Faults) Retries(attempts int) int { return max(attempts, f.MaskingRetries) }

// Masks tells whether an answer is kept from the client while there are retries
// left.
func (f Faults) Masks(status int) bool { return f.MaskingRetries > 0 && status >= 500 }
