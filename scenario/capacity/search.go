package capacity

import (
	"math"

	"github.com/gatemark/gatemark/scenario/attack"
)

// A stage of the search is why a rate is tried.
type stage string

const (
	climb   stage = "climb"   // twice the rate before, or half of it while nothing was carried
	narrow  stage = "narrow"  // between a rate that was carried and one that was not
	again   stage = "again"   // a rate that was not carried, before it is believed
	confirm stage = "confirm" // what may be the answer, for longer
	direct  stage = "direct"  // without the gateway
)

// A step is one rate to be tried, in requests a second.
type step struct {
	stage stage
	rate  int
}

// gatewayRestarted is the verdict on a step during which pods of the data plane
// ended or were restarted: what they carry is not known from it.
const gatewayRestarted attack.Verdict = "gateway restarted"

// Bounds of a search.
const (
	// repeats is how often a step that was no evidence is tried again.
	repeats = 2
	// blindMost is how many rates may turn out to be no evidence, in all their
	// repeats, before it is looked no closer.
	blindMost = 3
	// halvings is how far below the start it is looked for anything that is
	// carried.
	halvings = 6
	// confirmsMost is how many rates are tried for longer.
	confirmsMost = 8
)

// A bound is a rate that was not carried, or at which nothing could be told.
type bound struct {
	rate    int
	verdict attack.Verdict
	twice   bool // it was seen twice
}

// A search finds the highest rate that is carried. It knows nothing of how a
// rate is tried: next says which is to be tried, and tell hears what became of
// it. Rates are doubled until one is not carried, and then it is looked halfway
// between the two until they are close. A failure next to the answer counts only
// when it was seen twice: one stall would halve the answer otherwise. Then the
// answer must last for longer, or is lowered; and last, the direct path must
// carry the rate above it that the gateway did not.
type search struct {
	start, most int
	// resolution is how close the answer is to what is not carried, as a share.
	resolution float64

	carried int     // the highest rate that was carried in a step
	bounds  []bound // each lower than the one before
	// confirmed is the highest rate that lasted, refused the lowest one that did
	// not; refusals counts these.
	confirmed, refused, refusals int
	confirms                     int
	checked                      bool // the direct path carries it
	doubts, blind                int
	ended                        attack.Verdict // why there is no answer
}

// An answer is what a search has come to.
type answer struct {
	// verdict is attack.Fine where rate is the capacity, attack.NotCarried where
	// nothing is carried, and otherwise says why it is not known.
	verdict attack.Verdict
	// rate was carried for as long as it takes, 0 if none was. above is the lowest
	// rate above it that was not, 0 where the search did not get there.
	rate, above int
	// carried is the highest rate that was carried for the length of a step.
	carried int
	// most: there was nothing more to be tried.
	most bool
}

// top is the lowest bound, or nil.
func (s *search) top() *bound {
	if len(s.bounds) == 0 {
		return nil
	}
	return &s.bounds[len(s.bounds)-1]
}

// next is the step to be made, unless the search is over.
func (s *search) next() (step, bool) {
	if s.ended != "" || s.checked {
		return step{}, false
	}
	hi := s.top()
	switch {
	case hi == nil && s.carried == 0:
		return step{climb, s.start}, true
	case hi == nil && s.carried < s.most:
		return step{climb, min(2*s.carried, s.most)}, true
	case hi != nil && s.carried == 0:
		return step{climb, max(1, hi.rate/2)}, true
	case hi != nil && !s.close(s.carried, hi.rate) && s.blind < blindMost:
		return step{narrow, (s.carried + hi.rate) / 2}, true
	case hi != nil && hi.verdict == attack.NotCarried && !hi.twice:
		return step{again, hi.rate}, true
	}
	if rate, ok := s.nextConfirm(); ok {
		return step{confirm, rate}, true
	}
	// What may be more needs no direct path to be doubted.
	return step{direct, s.above()}, s.bounded() == attack.Fine
}

// nextConfirm lowers the rate in growing steps until one lasts, and looks
// halfway from there.
func (s *search) nextConfirm() (rate int, ok bool) {
	switch {
	case s.confirmed == 0:
		lower := s.resolution * (math.Pow(2, float64(s.refusals)) - 1)
		return max(1, s.refused/2, int(float64(s.carried)*(1-lower))), true
	case s.refused > 0 && !s.close(s.confirmed, s.refused) && s.confirms < confirmsMost:
		return (s.confirmed + s.refused) / 2, true
	}
	return 0, false
}

// above is the lowest rate above the answer that was not carried, or the answer
// where there is none.
func (s *search) above() int {
	rate := s.refused
	if hi := s.top(); hi != nil && (rate == 0 || hi.rate < rate) {
		rate = hi.rate
	}
	if rate == 0 {
		return s.confirmed
	}
	return rate
}

// close: the search need not look between the two.
func (s *search) close(low, high int) bool {
	return float64(high-low) <= max(1, s.resolution*float64(low))
}

// tell hears whether the step that next named was carried (attack.Fine) or not
// (attack.NotCarried), or why it is no evidence.
func (s *search) tell(verdict attack.Verdict) {
	now, ok := s.next()
	if !ok {
		return
	}
	if now.stage == direct && verdict == attack.NotCarried {
		verdict = attack.DirectSaturated
	}
	if !verdict.Valid() {
		if s.doubts++; s.doubts > repeats {
			s.doubts = 0
			s.unclear(now, verdict)
		}
		return
	}
	s.doubts = 0
	carried := verdict == attack.Fine
	switch {
	case now.stage == direct:
		s.checked = true
	case now.stage == confirm:
		s.lasted(now.rate, carried)
	case now.stage == again && !carried:
		s.top().twice = true
	case now.stage == again:
		s.carried, s.bounds = now.rate, s.bounds[:len(s.bounds)-1]
	case carried:
		s.carried = now.rate
	default:
		s.fail(bound{rate: now.rate, verdict: verdict})
	}
}

// lasted hears of a rate that was tried for longer.
func (s *search) lasted(rate int, carried bool) {
	s.confirms++
	if carried {
		s.confirmed = rate
		return
	}
	s.refused = rate
	if s.refusals++; s.confirmed == 0 && (s.confirms == confirmsMost || rate <= 1) {
		s.ended = attack.NotCarried
	}
}

// fail notes what was not carried.
func (s *search) fail(b bound) {
	s.bounds = append(s.bounds, b)
	if s.carried == 0 && (b.rate <= 1 || b.rate <= s.start>>halvings) {
		s.ended = b.verdict
	}
}

// unclear: a step was no evidence in all its repeats. Below it there may be a
// rate that plainly is not carried.
func (s *search) unclear(now step, verdict attack.Verdict) {
	s.blind++
	switch {
	case now.stage == confirm || now.stage == direct || s.carried == 0 && s.blind == blindMost:
		s.ended = verdict
	case now.stage == again:
		s.top().verdict = verdict
	default:
		s.fail(bound{rate: now.rate, verdict: verdict})
	}
}

// bounded is what keeps the answer from being higher: attack.Fine where it is
// the gateway itself, or nothing more was to be tried.
func (s *search) bounded() attack.Verdict {
	hi := s.top()
	if hi == nil || s.refused > 0 || hi.verdict == attack.NotCarried {
		return attack.Fine
	}
	return hi.verdict
}

// answer is what the search has come to; it is over.
func (s *search) answer() answer {
	a := answer{verdict: s.ended, rate: s.confirmed, carried: s.carried, most: s.top() == nil && s.refused == 0}
	if above := s.above(); above > a.rate {
		a.above = above
	}
	if a.verdict == "" {
		a.verdict = s.bounded()
	}
	return a
}
