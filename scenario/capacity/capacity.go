// Package capacity asks for the highest rate that a gateway carries: with every
// request answered well, and soon.
package capacity

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// Scenario is the question, and the procedure that answers it.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "capacity",
		Title:    "Capacity",
		Question: "What is the highest rate that the gateway carries, with all requests answered well and soon, and how sure is that?",
		Method: "Attackers in pods of their own, which start at one instant, send CloudEvents by the clock through the gateway to several receivers. The rate is doubled until a step " +
			"fails, then it is looked halfway between until the two are close, with rest between steps. A failure next to the answer counts when it was seen twice. The answer must last for a longer stage on new connections, or is " +
			"lowered; and the receivers must carry the rate above it without the gateway. A step that the attackers, the machine or the receivers limited, or during which the gateway was restarted, is no evidence: it is repeated at " +
			"most twice, and is never called a capacity.",
		Headline: []string{"capacity", "latency-confirmed", "cpu-per-million"},
	},
	Parameters: []scenario.Parameter{
		{Name: "start", Default: 500, Min: 1, Max: 500_000, Help: "the first rate that is tried, in requests a second"},
		{Name: "most", Default: 500_000, Min: 1, Max: 500_000, Help: "the highest rate that is tried"},
		{Name: "resolution", Default: 0.02, Min: 0.001, Max: 0.5, Help: "how close the answer is to a rate that is not carried, as a share of it"},
		{Name: "p99", Default: time.Second, Min: float64(time.Millisecond), Max: float64(time.Minute), Help: "what the 99th percentile of latency must stay below"},
		{Name: "success", Default: 100.0, Min: 50, Max: 100, Help: "how many of a hundred requests must be answered well"},
		{Name: "duration", Default: 4 * time.Second, Min: float64(500 * time.Millisecond), Max: float64(time.Hour), Help: "how long each step lasts"},
		{Name: "confirm", Default: 20 * time.Second, Min: float64(time.Second), Max: float64(24 * time.Hour), Help: "how long what may be the answer must last"},
		{Name: "oneIn", Default: 0, Min: 0, Max: 500_000, Help: "a failure of one request in so many must be seen, with 95 % confidence: what may be the answer is tried for as long as that takes; 0 takes `confirm` as it is"},
		{Name: "warmup", Default: 500 * time.Millisecond, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute), Help: "how long requests are sent before each step"},
		{Name: "cooldown", Default: time.Second, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute), Help: "rest after each step"},
		{Name: "connections", Default: 64, Min: 1, Max: 100_000, Help: "connections of all attackers together"},
		{Name: "events", Default: 2048, Min: 0, Max: 100_000, Help: "bytes of data of the CloudEvents that are sent; 0 sends GETs instead"},
		attack.ThroughParameter,
		{Name: "timeout", Default: 10 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute), Help: "how long a request may take"},
		{Name: "attackers", Default: 1, Min: 1, Max: 100, Help: "pods that send, at one instant"},
		{Name: "backends", Default: 5, Min: 1, Max: 100, Help: "pods that receive"},
	},
	Check:      check,
	Writes:     attack.Writes,
	Estimate:   estimate,
	AnyDialect: true,
	Run:        run,
}

// check finds attackers that would go without a connection, and a search that
// would end before it begins.
func check(v map[string]any) (problems []error) {
	attackers, _ := v["attackers"].(int)
	if connections, ok := v["connections"].(int); ok && connections < attackers {
		problems = append(problems, fmt.Errorf("connections: each of %d attackers needs one, and %d are fewer", attackers, connections))
	}
	start, _ := v["start"].(int)
	if most, ok := v["most"].(int); ok && most < start {
		problems = append(problems, fmt.Errorf("most: %d is below start, %d", most, start))
	}
	return problems
}

// estimate is for a gateway that carries eight times the start: three doublings
// and one more, the narrowing, one look again and one without the gateway.
func estimate(v scenario.Values) time.Duration {
	overhead := v.Duration("warmup") + v.Duration("cooldown") + 1500*time.Millisecond
	steps := 3 + 1 + math.Ceil(math.Log2(1/v.Float("resolution"))) + 2
	return 25*time.Second + time.Duration(steps)*(v.Duration("duration")+overhead) + v.Duration("confirm") + overhead
}

// host is the route's.
const host = "capacity.gatemark.test"

// capacity is one trial of it.
type capacity struct {
	*attack.Place
	search search
	tries  []*try
	// pods are the data plane's as they were seen last, and first those of the
	// beginning.
	pods, first pods
	// came is what came to the receivers in all, by the source of its events.
	came map[string]arrived
}

func run(ctx context.Context, t *scenario.Trial) (err error) {
	c := &capacity{search: search{start: t.Values.Int("start"), most: t.Values.Int("most"), resolution: t.Values.Float("resolution")}}
	if err := c.prepare(ctx, t); err != nil {
		return err
	}
	if err := c.Start(ctx, t.Values.Int("attackers")); err != nil {
		return err
	}
	defer func() { err = c.Remove(ctx, err) }()
	t.Begin() // what was used before is the attackers' start
	watch := scenario.WatchSelf()
	defer watch.Stop()
	if err := c.find(ctx); err != nil {
		return err
	}
	watch.ClockGate(t)
	c.report()
	return c.evident()
}

// evident is an error where no step told anything about the gateway.
func (c *capacity) evident() error {
	for _, one := range c.tries {
		if one.Verdict.Valid() || len(one.restarts) > 0 {
			return nil
		}
	}
	last := c.tries[len(c.tries)-1]
	return scenario.Invalid{Reason: fmt.Errorf("none of %d steps is evidence, down to %s: %s: %s", len(c.tries), last.step, last.Verdict, strings.Join(last.Reasons, "; "))}
}

// prepare sets the stage, finds out where requests go, and makes the route.
func (c *capacity) prepare(ctx context.Context, t *scenario.Trial) (err error) {
	if c.Place, err = attack.Prepare(ctx, t, "capacity", host); err != nil {
		return err
	}
	c.first, err = c.look(ctx)
	c.pods = c.first
	return err
}

// find searches.
func (c *capacity) find(ctx context.Context) error {
	for {
		now, ok := c.search.next()
		if !ok {
			break
		}
		c.Progress("%s (step %d)", now, len(c.tries)+1)
		one, err := c.try(ctx, now)
		if err != nil {
			return scenario.Invalid{Reason: fmt.Errorf("after %d steps: %s: %w", len(c.tries), now, err)}
		}
		c.tries = append(c.tries, one)
		c.search.tell(one.Verdict)
		if len(one.restarts) > 0 {
			if err := c.recover(ctx); err != nil {
				return err
			}
		}
	}
	var err error
	if c.came, err = c.arrivals(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return nil
}

// String says what is being done.
func (s step) String() string {
	switch s.stage {
	case direct:
		return fmt.Sprintf("%d requests/s without the gateway", s.rate)
	case confirm:
		return fmt.Sprintf("%d requests/s for longer", s.rate)
	}
	return fmt.Sprintf("%d requests/s", s.rate)
}
