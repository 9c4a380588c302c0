package load

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Profile is the rate of an open loop over time: stages, one after the
// other. Rates are in requests per second.
type Profile []Stage

// A Stage goes from one rate to another in a straight line.
type Stage struct {
	From     float64       `json:"from"`
	To       float64       `json:"to"`
	Duration time.Duration `json:"duration"` // nanoseconds
}

// Steady is a constant rate.
func Steady(rate float64, d time.Duration) Profile { return Profile{{rate, rate, d}} }

// Duration is how long the profile lasts.
func (p Profile) Duration() time.Duration {
	var d time.Duration
	for _, s := range p {
		d += s.Duration
	}
	return d
}

// Requests is how many requests are due in all: the integral of the rate.
func (p Profile) Requests() float64 {
	var n float64
	for _, s := range p {
		n += s.requests()
	}
	return n
}

// Mean is the mean rate in requests per second.
func (p Profile) Mean() float64 { return p.Requests() / p.Duration().Seconds() }

// Highest is the highest rate in requests per second.
func (p Profile) Highest() float64 {
	var highest float64
	for _, s := range p {
		highest = max(highest, s.From, s.To)
	}
	return highest
}

func (s Stage) requests() float64 { return (s.From + s.To) / 2 * s.Duration.Seconds() }

// at is when the stage has seen n requests: the inverse of its integral.
func (s Stage) at(n float64) time.Duration {
	slope := (s.To - s.From) / s.Duration.Seconds()
	// The solution of slope/2 t² + from t = n that stays exact for slope 0.
	root := math.Sqrt(max(0, s.From*s.From+2*slope*n))
	if s.From+root == 0 {
		return 0
	}
	return min(time.Duration(2*n/(s.From+root)*1e9), s.Duration)
}

// check returns what is wrong with the profile.
func (p Profile) check() (problems []error) {
	if len(p) == 0 {
		return []error{fmt.Errorf("rate: no stages")}
	}
	for i, s := range p {
		for _, rate := range []float64{s.From, s.To} {
			if !(rate >= 0 && rate <= maxRate) {
				problems = append(problems, fmt.Errorf("rate: stage %d: %v requests per second is not between 0 and %v", i+1, rate, float64(maxRate)))
			}
		}
		if s.Duration <= 0 {
			problems = append(problems, fmt.Errorf("rate: stage %d lasts %v, which is not above 0", i+1, s.Duration))
		}
	}
	if len(problems) == 0 && p.Requests() < 1 {
		problems = append(problems, fmt.Errorf("rate: %.3g requests in %v are less than one", p.Requests(), p.Duration()))
	}
	return problems
}

const maxRate = 1e8

// ParseProfile reads a rate as people write it: "5000" for a constant rate
// that lasts as long as all; or stages such as "1000/30s,1000..5000/1m", each a
// rate or a ramp and how long it lasts.
func ParseProfile(text string, all time.Duration) (Profile, error) {
	if rate, err := strconv.ParseFloat(text, 64); err == nil {
		return Steady(rate, all), nil
	}
	var p Profile
	for part := range strings.SplitSeq(text, ",") {
		s, err := parseStage(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		p = append(p, s)
	}
	return p, nil
}

func parseStage(text string) (Stage, error) {
	rates, duration, ok := strings.Cut(text, "/")
	if !ok {
		return Stage{}, fmt.Errorf("rate %q: want a number such as 5000, or stages such as 1000/30s,1000..5000/1m", text)
	}
	from, to, ramp := strings.Cut(rates, "..")
	if !ramp {
		to = from
	}
	var s Stage
	var err error
	if s.From, err = strconv.ParseFloat(from, 64); err != nil {
		return Stage{}, fmt.Errorf("rate %q: %q is not a number", text, from)
	}
	if s.To, err = strconv.ParseFloat(to, 64); err != nil {
		return Stage{}, fmt.Errorf("rate %q: %q is not a number", text, to)
	}
	if s.Duration, err = time.ParseDuration(duration); err != nil {
		return Stage{}, fmt.Errorf("rate %q: %q is not a duration such as 30s", text, duration)
	}
	return s, nil
}
