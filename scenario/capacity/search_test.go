package capacity

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gatemark/gatemark/scenario/attack"
)

// A server carries so many requests a second, for the length of a step as for
// that of a confirm stage, and straight without it.
type server struct {
	limit, lasting, direct float64
	attackers              float64 // what these can send
	restarts               float64 // above that it restarts
	// stalls and doubts are how often a step fails without reason, and is no
	// evidence; jitter is how much a step's limit varies, as a share.
	stalls, doubts, jitter float64
	random                 *rand.Rand
}

func (s *server) try(at step) attack.Verdict {
	rate := float64(at.rate)
	if s.random != nil {
		if s.random.Float64() < s.doubts {
			return attack.MachineLimited
		}
		if s.random.Float64() < s.stalls {
			return attack.NotCarried
		}
		rate *= 1 + s.jitter*s.random.NormFloat64()
	}
	limit := s.limit
	switch {
	case at.stage == confirm && s.lasting > 0:
		limit = s.lasting
	case at.stage == direct && s.direct > 0:
		limit = s.direct
	case at.stage == direct:
		limit = math.Inf(1)
	}
	switch {
	case s.restarts > 0 && rate > s.restarts && at.stage != direct:
		return gatewayRestarted
	case rate <= limit:
		return attack.Fine
	case s.attackers > 0 && rate > s.attackers:
		return attack.AttackerLimited
	}
	return attack.NotCarried
}

// found searches on a server.
func found(t *testing.T, s *search, on *server) (answer, []step) {
	t.Helper()
	var steps []step
	for {
		now, ok := s.next()
		if !ok {
			return s.answer(), steps
		}
		if steps = append(steps, now); len(steps) > 200 {
			t.Fatalf("no end: %v", steps)
		}
		s.tell(on.try(now))
	}
}

func newSearch() *search { return &search{start: 500, most: 500_000, resolution: 0.02} }

// within reports whether a rate is at most so far below a limit, and not above it.
func within(rate int, limit, share float64) bool {
	return float64(rate) <= limit && float64(rate) >= limit*(1-share)
}

func TestTheLimitIsFound(t *testing.T) {
	for _, limit := range []float64{1, 3, 7, 77, 499, 500, 501, 999, 3000, 7500, 123_456} {
		s := newSearch()
		a, steps := found(t, s, &server{limit: limit})
		if limit < 500>>halvings {
			if a.verdict != attack.NotCarried || a.rate != 0 {
				t.Errorf("limit %v: %+v", limit, a)
			}
			continue
		}
		if a.verdict != attack.Fine || a.most || !within(a.rate, limit, 0.02) && a.rate != int(limit) || float64(a.above) <= limit {
			t.Errorf("limit %v: %+v after %v", limit, a, steps)
		}
		if last := steps[len(steps)-1]; last != (step{direct, a.above}) {
			t.Errorf("limit %v: the last step is %v", limit, last)
		}
		if len(steps) > 26 {
			t.Errorf("limit %v: %d steps", limit, len(steps))
		}
	}
}

func TestMoreThanIsTried(t *testing.T) {
	s := newSearch()
	s.most = 3000
	a, steps := found(t, s, &server{limit: 9000})
	if a != (answer{verdict: attack.Fine, rate: 3000, carried: 3000, most: true}) {
		t.Errorf("%+v after %v", a, steps)
	}
}

// What lasts for a step only is not the answer.
func TestAConfirmLowersTheAnswer(t *testing.T) {
	for lasting, near := range map[float64]float64{2990: 0.02, 2900: 0.04, 2500: 0.04, 1500: 0.15} {
		a, steps := found(t, newSearch(), &server{limit: 3000, lasting: lasting})
		if a.verdict != attack.Fine || !within(a.rate, lasting, near) || float64(a.above) <= lasting {
			t.Errorf("lasting %v: %+v after %v", lasting, a, steps)
		}
	}
	a, steps := found(t, newSearch(), &server{limit: 3000, lasting: 10})
	if a.verdict != attack.NotCarried || a.rate != 0 || a.carried < 2900 {
		t.Errorf("nothing lasts: %+v after %v", a, steps)
	}
}

func TestWhatIsNoEvidenceIsNoCapacity(t *testing.T) {
	for name, c := range map[string]struct {
		on   server
		want attack.Verdict
		rate float64 // that is carried all the same
	}{
		"attackers that can send no more": {server{limit: 5000, attackers: 4000}, attack.AttackerLimited, 5000},
		"attackers whose limit is far":    {server{limit: 3000, attackers: 5000}, attack.Fine, 3000},
		"a gateway that restarts":         {server{limit: 5000, restarts: 3000}, gatewayRestarted, 3000},
		"a gateway that always restarts":  {server{limit: 5000, restarts: 0.1}, gatewayRestarted, 0},
		"a direct path with its limit":    {server{limit: 3000, direct: 3000}, attack.DirectSaturated, 3000},
		"a direct path below it":          {server{limit: 3000, direct: 1000}, attack.DirectSaturated, 3000},
	} {
		a, steps := found(t, newSearch(), &c.on)
		if a.verdict != c.want || !within(a.rate, c.rate, 0.2) {
			t.Errorf("%s: %+v after %v", name, a, steps)
		}
	}
}

func TestAStepIsRepeatedTwiceAtMost(t *testing.T) {
	_, steps := found(t, newSearch(), &server{limit: 5000, attackers: 4000})
	times := map[step]int{}
	for _, s := range steps {
		times[s]++
		if times[s] > 1+repeats {
			t.Errorf("%v was made %d times: %v", s, times[s], steps)
		}
	}
}

// One step in twenty fails for no reason, another one in twenty is no evidence,
// and the limit is not sharp.
func TestNoise(t *testing.T) {
	const trials = 2000
	for _, limit := range []float64{3000, 7500} {
		far, none, most := 0, 0, 0
		for seed := range uint64(trials) {
			a, steps := found(t, newSearch(), &server{limit: limit, stalls: 0.05, doubts: 0.05, jitter: 0.005, random: rand.New(rand.NewPCG(seed, 1))})
			most = max(most, len(steps))
			switch off := math.Abs(float64(a.rate)/limit - 1); {
			case a.verdict != attack.Fine:
				none++
			case off > 0.05:
				far++
			}
		}
		t.Logf("limit %v: %d of %d answers over 5 %% off, %d without an answer, at most %d steps", limit, far, trials, none, most)
		if far > trials*3/100 || none > trials/100 || most > 50 {
			t.Errorf("limit %v: %d of %d answers over 5 %% off, %d without an answer, at most %d steps", limit, far, trials, none, most)
		}
	}
}
