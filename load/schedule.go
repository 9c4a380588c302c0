package load

import (
	"math"
	"time"
)

// A Schedule says when requests are due. It is a pure function of how many
// were due before, on an absolute time axis, so that it can be tested without
// time and a late request does not push back the ones after it.
type Schedule interface {
	// Due is the instant at which request number n is due, counted from zero,
	// as time since the schedule's start. It never decreases with n.
	Due(n int) time.Duration
	// Passed is how many requests are due at or before an instant: the
	// smallest n for which Due(n) lies behind it. It is 0 before the start.
	Passed(elapsed time.Duration) int
}

// Constant is one request each Step, the first at the start.
type Constant struct{ Step time.Duration }

// Due implements Schedule.
func (c Constant) Due(n int) time.Duration { return time.Duration(n) * c.Step }

// Passed implements Schedule.
func (c Constant) Passed(elapsed time.Duration) int {
	if elapsed < 0 {
		return 0
	}
	return int(elapsed/c.Step) + 1
}

// DenseThenSparse is one request each Step until Dense has passed, then gaps
// of Share of the elapsed time: an event that happens soon is timed to a Step,
// a later one to Share of the time that it took, and requests that each cost a
// connection last.
type DenseThenSparse struct {
	Step  time.Duration
	Dense time.Duration
	// Share is the gap as a share of the elapsed time, such as 0.02.
	Share float64
}

// dense is the number of requests in the dense part.
func (d DenseThenSparse) dense() int { return int(d.Dense/d.Step) + 1 }

// growth is the factor from one sparse instant to the next. Gaps are never
// shorter than Step.
func (d DenseThenSparse) growth() float64 {
	last := d.Due(d.dense() - 1)
	if last <= 0 {
		last = d.Step
	}
	return 1 + max(d.Share, float64(d.Step)/float64(last))
}

// Due implements Schedule.
func (d DenseThenSparse) Due(n int) time.Duration {
	dense := d.dense()
	if n < dense {
		return time.Duration(n) * d.Step
	}
	last := max(d.Due(dense-1), d.Step)
	due := float64(last) * math.Pow(d.growth(), float64(n-dense+1))
	if due >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(due)
}

// Passed implements Schedule.
func (d DenseThenSparse) Passed(elapsed time.Duration) int {
	if elapsed < 0 {
		return 0
	}
	dense := d.dense()
	last := d.Due(dense - 1)
	if elapsed < last {
		return int(elapsed/d.Step) + 1
	}
	last = max(last, d.Step)
	n := dense
	if elapsed > last {
		n += int(math.Log(float64(elapsed)/float64(last)) / math.Log(d.growth()))
	}
	// The logarithm is off by one at the edges; Due decides.
	for n > dense && d.Due(n-1) > elapsed {
		n--
	}
	for d.Due(n) <= elapsed {
		n++
	}
	return n
}
