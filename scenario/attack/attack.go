// Package attack is what scenarios share that send load and measure it: where
// requests go, one attack and what it showed, who used which CPU time
// meanwhile, and whose number it is.
package attack

import (
	"context"
	"errors"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/load/attacker"
	"github.com/gatemark/gatemark/scenario"
)

// Seen is what one attack has shown.
type Seen struct {
	Result *load.Result
	// Each is what each attacker has found.
	Each []load.Attacker
	// Counts are all that was due after the warm-up.
	Counts load.Counts
	// Sent are all requests that went out, the warm-up's too. Received is what
	// came to the backends meanwhile, where they were asked.
	Sent     int64
	Received Arrivals
	// Use is of the attack without its warm-up.
	Use Use
	// At is the middle of that, in seconds of the trial's clock.
	At float64

	Verdict Verdict
	Reasons []string
}

// Start starts so many attackers. They are to be removed.
func (p *Place) Start(ctx context.Context, attackers int) (err error) {
	p.Progress("starting the attackers")
	if p.Attackers, err = p.Attack(ctx, attackers); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return nil
}

// Remove ends the attackers. It adds to an error what kept it from that.
func (p *Place) Remove(ctx context.Context, err error) error {
	if p.Attackers == nil {
		return err
	}
	// The context may be why.
	if gone := p.Attackers.Remove(context.WithoutCancel(ctx)); gone != nil {
		return errors.Join(err, scenario.Invalid{Reason: gone})
	}
	return err
}

// Measure makes one attack, and asks the backends before and after it what came
// to them. The options' Duration is set, of an open loop too.
func (p *Place) Measure(ctx context.Context, o load.Options) (*Seen, error) {
	before, err := p.arrivals(ctx)
	if err != nil {
		return nil, err
	}
	one, err := p.attack(ctx, o)
	if err != nil {
		return nil, errors.Join(err, p.Attackers.Reset(context.WithoutCancel(ctx)))
	}
	after, err := p.arrivals(ctx)
	if err != nil {
		return nil, err
	}
	one.Received = Arrivals{after.Accepted - before.Accepted, after.Requests - before.Requests}
	return one, nil
}

func (p *Place) attack(ctx context.Context, o load.Options) (*Seen, error) {
	if err := p.Attackers.Prepare(ctx, o); err != nil {
		return nil, err
	}
	began, err := p.Attackers.Start(ctx)
	if err != nil {
		return nil, err
	}
	from, to := began.Add(o.Warmup), began.Add(o.Duration)
	for _, edge := range []time.Time{from, to} {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Until(edge)):
		}
		if p.Meter != nil {
			p.Meter.Edge(ctx)
		}
	}
	outcome, err := p.Attackers.Collect(ctx)
	if err != nil {
		return nil, err
	}
	one := seen(outcome)
	one.At = p.At(from.Add(to.Sub(from) / 2))
	if p.Meter != nil {
		one.Use = useOf(p.Meter.Window(from, to), p.Namespace)
	}
	return one, nil
}

func seen(outcome *attacker.Outcome) *Seen {
	one := &Seen{Result: outcome.Result, Each: outcome.Attackers, Use: UnknownUse()}
	var all load.Counts
	for _, s := range one.Result.Slices {
		all.Merge(&s.Counts)
		if s.Window != load.WarmUp {
			one.Counts.Merge(&s.Counts)
		}
	}
	one.Sent = Sent(&all)
	return one
}

// Sent are requests that did not fail before they went out.
func Sent(c *load.Counts) int64 {
	n := c.Requests()
	for class, count := range c.Errors() {
		if class.Ours() {
			n -= count
		}
	}
	return n
}
