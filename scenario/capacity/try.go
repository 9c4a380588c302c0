package capacity

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario/attack"
)

// A try is a step that was made.
type try struct {
	step
	*attack.Seen
	length time.Duration
	// source is that of its events, and well how many requests were answered
	// well, those of the warm-up too.
	source string
	well   int64
	// began is when it began, in seconds of the trial's clock.
	began float64
	// restarts say what became of pods of the data plane meanwhile.
	restarts []string
}

// try makes a step, rests, and judges.
func (c *capacity) try(ctx context.Context, now step) (*try, error) {
	one := &try{step: now, length: c.length(now), source: fmt.Sprintf("/gatemark/capacity/%d", len(c.tries)+1), began: c.At(time.Now())}
	options, err := c.options(one)
	if err != nil {
		return nil, err
	}
	if one.Seen, err = c.Measure(ctx, options); err != nil {
		return nil, err
	}
	for _, s := range one.Result.Slices {
		if well := s.Classes[load.OK]; well != nil {
			one.well += well.Count
		}
	}
	one.forget()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(c.Values.Duration("cooldown")):
	}
	after, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	one.restarts, c.pods = c.pods.gone(after), after
	one.judge(criteria{c.Values.Duration("p99"), c.Values.Float("success")}, c.CPUs*c.BackendNodes)
	return one, nil
}

// forget lets go of histograms: what is shown of a step are its sums, and of what
// each attacker found, what lasted.
func (one *try) forget() {
	one.Result.Slices, one.Result.ConnectTimes = nil, nil
	if one.stage != confirm {
		one.Each = nil
	}
	for _, a := range one.Each {
		a.Result.Slices, a.Result.ConnectTimes = nil, nil
	}
}

// quantileNeeds is how many requests a p99 takes.
const quantileNeeds = 100

// length is how long a step lasts.
func (c *capacity) length(now step) time.Duration {
	length, requests := c.Values.Duration("duration"), quantileNeeds
	if now.stage == confirm {
		length = c.Values.Duration("confirm")
		if oneIn := c.Values.Int("oneIn"); oneIn > 0 {
			requests = max(requests, needed(oneIn))
		}
	}
	return max(length, time.Duration(math.Ceil(float64(requests)/float64(now.rate)))*time.Second)
}

// needed is how many requests it takes to see a failure of one in so many, with
// 95 % confidence: the rule of three.
func needed(oneIn int) int {
	if oneIn <= 1 {
		return 1
	}
	return int(math.Ceil(math.Log(0.05) / math.Log1p(-1/float64(oneIn))))
}

// seesOneIn is its inverse: of which failures so many requests show one.
func seesOneIn(requests int64) int { return int(requests / 3) }

// options are those of a step's attack.
func (c *capacity) options(one *try) (load.Options, error) {
	warmup, connections := c.Values.Duration("warmup"), c.Values.Int("connections")
	o := load.Options{
		Connections: connections, Duration: warmup + one.length, Warmup: warmup, Timeout: c.Values.Duration("timeout"), Whole: true,
		Rate: load.Steady(float64(one.rate), warmup+one.length),
	}
	places := []string{c.Gateway}
	if one.stage == direct {
		// Each attacker needs a connection for each place.
		places = c.Backends[:min(len(c.Backends), connections/c.Values.Int("attackers"))]
	}
	for _, place := range places {
		target, err := c.target(place, one.source)
		if err != nil {
			return o, err
		}
		o.Targets = append(o.Targets, target)
	}
	return o, nil
}

// target is what requests are.
func (c *capacity) target(place, source string) (load.Target, error) {
	t := load.Target{URL: "http://" + host + "/", Connect: place, Expect: load.Expect{Status: http.StatusOK, Body: -1}}
	size := c.Values.Int("events")
	if size == 0 {
		return t, nil
	}
	t.Expect.Status = http.StatusAccepted
	event := load.Event{Mode: load.Binary, Source: source, Type: "dev.gatemark.capacity", Size: size}
	return event.Target(t)
}
