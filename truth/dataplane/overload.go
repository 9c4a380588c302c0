package dataplane

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// tolerance is how far requests may be ahead of a limit on what comes in a
// second: those who keep to it do not send at even intervals to the microsecond.
const tolerance = 25 * time.Millisecond

// overloaded does with a visit what faults want when too many come, and tells
// whether that was all.
func (r *Replica) overloaded(v visit, f fault.Faults) bool {
	now := time.Now()
	if f.CrashesAbove > 0 && exceeds(&r.wrong.overload, now, f.CrashesAbove) {
		select {
		case r.crashing <- struct{}{}:
		default: // it crashes already
		}
		v.reset()
		return true
	}
	if f.RefusesAbove > 0 && exceeds(&r.wrong.refused, now, f.RefusesAbove) {
		r.wrong.injected.Add("refusesAbove")
		v.refuse(http.StatusServiceUnavailable)
		return true
	}
	return false
}

// exceeds counts a request, unless it is more than so many in a second: a token
// bucket that holds what comes within the tolerance (the generic cell rate
// algorithm of ITU-T I.371). The slot has the turn of the last one.
func exceeds(slot *atomic.Int64, now time.Time, limit int64) bool {
	for {
		last := slot.Load()
		at := max(last+int64(time.Second)/limit, now.UnixNano())
		if at-now.UnixNano() > int64(tolerance) {
			return true
		}
		if slot.CompareAndSwap(last, at) {
			return false
		}
	}
}
