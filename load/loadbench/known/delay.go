package known

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A Delay is a distribution of delays.
type Delay struct {
	text string
	draw func(*rand.Rand) time.Duration
	mean time.Duration
}

// String is what ParseDelay reads.
func (d Delay) String() string { return d.text }

// Mean is the distribution's mean.
func (d Delay) Mean() time.Duration { return d.mean }

// Draw returns a delay.
func (d Delay) Draw(r *rand.Rand) time.Duration { return d.draw(r) }

// ParseDelay reads a distribution: "fixed:2ms", "exponential:2ms" (the mean),
// or "bimodal:1ms,50ms,0.02" (the second for that share of the requests).
func ParseDelay(text string) (Delay, error) {
	kind, rest, _ := strings.Cut(text, ":")
	parts := strings.Split(rest, ",")
	wrong := func() error {
		return fmt.Errorf("delay %q: want fixed:2ms, exponential:2ms or bimodal:1ms,50ms,0.02", text)
	}
	first, err := time.ParseDuration(parts[0])
	if err != nil || first < 0 {
		return Delay{}, wrong()
	}
	switch {
	case kind == "fixed" && len(parts) == 1:
		return Delay{text, func(*rand.Rand) time.Duration { return first }, first}, nil
	case kind == "exponential" && len(parts) == 1:
		return Delay{text, func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(first)) }, first}, nil
	case kind == "bimodal" && len(parts) == 3:
		second, err := time.ParseDuration(parts[1])
		share, err2 := strconv.ParseFloat(parts[2], 64)
		if err != nil || err2 != nil || second < 0 || !(share >= 0 && share <= 1) {
			return Delay{}, wrong()
		}
		mean := time.Duration((1-share)*float64(first) + share*float64(second))
		return Delay{text, func(r *rand.Rand) time.Duration {
			if r.Float64() < share {
				return second
			}
			return first
		}, mean}, nil
	}
	return Delay{}, wrong()
}
