package load

import "fmt"

// A Verdict says whether the numbers are those of what was attacked.
type Verdict string

// The verdicts.
const (
	// Valid numbers are the target's.
	Valid Verdict = "ok"
	// AttackerLimited numbers are those of the attacker.
	AttackerLimited Verdict = "attacker-limited"
	// BackendLimited numbers are the target's, which did not keep up with what
	// was asked of it.
	BackendLimited Verdict = "backend-limited"
)

// Limits beyond which numbers are not the target's.
const (
	busyLimit  = 0.8  // of an event loop's CPU
	lateLimit  = 0.01 // of the requests
	shortLimit = 0.01 // of the requested rate
)

// judge sets the verdict.
func (r *Result) judge(a *attack) {
	limited := func(v Verdict, reason string) {
		if r.Verdict != AttackerLimited {
			r.Verdict = v
		}
		r.Reasons = append(r.Reasons, reason)
	}
	r.Verdict = Valid
	n := float64(max(r.Requests, 1))
	if r.Self.BusiestLoop > busyLimit {
		limited(AttackerLimited, percent("an event loop used %.0f %% of its CPU, limit %.0f %%", r.Self.BusiestLoop, busyLimit))
	}
	if share := float64(r.Late) / n; share > lateLimit {
		limited(AttackerLimited, percent("%.1f %% of requests were sent more than 1 ms late, limit %.0f %%", share, lateLimit))
	}
	if r.Self.Exhausted > 0 {
		limited(AttackerLimited, "no local port or descriptor was left for a connection")
	}
	if r.Self.ClockSteps > 0 {
		limited(AttackerLimited, "the real-time clock was set meanwhile: some instants are wrong (--receive-time loop does without it)")
	}
	if r.Self.RecordsLost > 0 {
		limited(AttackerLimited, "records were lost: they could not be written fast enough")
	}
	if !r.OpenLoop {
		return
	}
	if short := 1 - r.AchievedRate/r.RequestedRate; short > shortLimit {
		limited(BackendLimited, percent("%.1f %% of the requested rate was not answered in time, limit %.0f %%", short, shortLimit))
	} else if share := float64(r.Unsent) / n; share > lateLimit {
		limited(BackendLimited, percent("%.1f %% of requests were never sent: no connection was free, limit %.0f %%", share, lateLimit))
	}
}

// OnlyLate reports whether requests that were sent late are all that makes the
// attacker the limit. Service times then are still the target's: they count from
// when a request was sent.
func (r *Result) OnlyLate() bool {
	s := &r.Self
	return r.Verdict == AttackerLimited && s.BusiestLoop <= busyLimit && s.Exhausted == 0 && s.ClockSteps == 0 && s.RecordsLost == 0
}

func percent(format string, share, limit float64) string {
	return fmt.Sprintf(format, 100*share, 100*limit)
}
