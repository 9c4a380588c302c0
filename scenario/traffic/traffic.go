// Package traffic asks how much load a gateway carries, how soon it answers
// under it, and what it costs, by connections, rate and size of the answers.
package traffic

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// Scenario is the question, and the procedure that answers it.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "traffic",
		Title:    "Throughput, latency and cost",
		Question: "How many requests does the gateway carry, how soon does it answer, and what does that cost, by connections, rate and size of answers?",
		Method: "Attackers in pods of their own send requests through the gateway and, at other times, straight to the backend: as many as the connections allow, " +
			"or at a fixed rate by the clock. Each combination is measured for a short time after a warm-up, all of them in random order, once in each round. CPU time comes from " +
			"counters at both edges of each of these times. Where the attacker, the backend or the direct path is the limit, the number is no evidence about the gateway, and says so.",
		Headline: []string{"max-throughput", "cpu-per-million", "errors"},
	},
	Parameters: append([]scenario.Parameter{
		{Name: "connections", Default: "1,16", Help: "numbers of connections, with commas between them"},
		{Name: "rates", Default: "max,500,1000", Help: "requests a second, with commas between them; max is as many as the connections allow"},
		{Name: "payloads", Default: "0", Help: "sizes of the answers' bodies in bytes, with commas between them"},
		attack.RatesForParameter,
		attack.ThroughParameter,
		{Name: "rounds", Default: 2, Min: 1, Max: 100, Help: "how often everything is measured"},
		{Name: "warmup", Default: 500 * time.Millisecond, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute), Help: "how long requests are sent before each measurement"},
		{Name: "duration", Default: 2 * time.Second, Min: float64(500 * time.Millisecond), Max: float64(time.Hour), Help: "how long each measurement lasts"},
		{Name: "timeout", Default: 5 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "how long a request may take"},
		{Name: "attackers", Default: 1, Min: 1, Max: 100, Help: "pods that send"},
		{Name: "backends", Default: 1, Min: 1, Max: 100, Help: "pods of the backend"},
	}, slices.Concat(attack.WireParameters, []scenario.Parameter{idleParameter}, attack.RouteParameters)...),
	Check: check,
	Writes: func(v scenario.Values) []scenario.Write {
		all := attack.Writes(v)
		if routes := v.Int("routes"); routes > 0 {
			all = slices.Insert(all, 2, scenario.Write{Verb: "apply", Kind: "HTTPRoute beside it", Count: routes})
		}
		return all
	},
	Estimate: func(v scenario.Values) time.Duration {
		each := v.Duration("warmup") + v.Duration("duration") + 1500*time.Millisecond
		return 25*time.Second + idleEstimate(v.Int(idleParameter.Name), each) + time.Duration(2*len(pointsOf(v, 1))*v.Int("rounds"))*each
	},
	Rights:     attack.Rights,
	AnyDialect: true,
	Run: func(ctx context.Context, t *scenario.Trial) error {
		return (&traffic{Place: &attack.Place{Trial: t}}).run(ctx)
	},
}

// check finds lists that cannot be read, and attackers that would go without a
// connection.
func check(v map[string]any) (problems []error) {
	for _, list := range []struct {
		name        string
		least, most int
		max         bool
	}{{"connections", 1, 100_000, false}, {"rates", 1, 10_000_000, true}, {"payloads", 0, 64 << 20, false}} {
		text, ok := v[list.name].(string)
		if !ok {
			continue
		}
		numbers, err := numbers(text, list.least, list.most, list.max)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", list.name, err))
			continue
		}
		attackers, _ := v["attackers"].(int)
		for _, n := range numbers {
			if list.name == "connections" && n < attackers {
				problems = append(problems, fmt.Errorf("connections: each of %d attackers needs one, and %d are fewer", attackers, n))
			}
		}
	}
	attackers, _ := v["attackers"].(int)
	if idle, _ := v[idleParameter.Name].(int); idle > 0 && idle <= attackers {
		problems = append(problems, fmt.Errorf("idle: each of %d attackers holds one anyway, and %d are no more", attackers, idle))
	}
	for _, err := range []error{attack.CheckWire(v), attack.CheckRoutes(v)} {
		if err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// traffic is one trial of traffic.
type traffic struct {
	*attack.Place
	points []point
	seen   []*seen
	// held are few connections and many without requests, where memory is asked
	// for.
	held []*attack.Seen
}

// A turn is one point to be measured, on one way, in one round.
type turn struct {
	point  point
	direct bool
	round  int
}

// host is the route's.
const host = "traffic.gatemark.test"

func (t *traffic) run(ctx context.Context) (err error) {
	if t.Place, err = attack.Prepare(ctx, t.Trial, "traffic", host); err != nil {
		return err
	}
	t.points = pointsOf(t.Values, t.Scale())
	if err := t.Start(ctx, t.Values.Int("attackers")); err != nil {
		return err
	}
	defer func() { err = t.Remove(ctx, err) }()
	t.Begin() // what was used before is the attackers' start
	watch := scenario.WatchSelf()
	defer watch.Stop()
	if err := t.holdIdle(ctx); err != nil {
		return err
	}
	turns := t.turns()
	for i, each := range turns {
		t.Progress("%s, %s (%d of %d)", each.point, way(each.direct), i+1, len(turns))
		one, err := t.measure(ctx, each)
		if err != nil {
			return scenario.Invalid{Reason: fmt.Errorf("after %d of %d measurements: %s, %s: %w", i, len(turns), each.point, way(each.direct), err)}
		}
		t.seen = append(t.seen, one)
	}
	watch.ClockGate(t.Trial)
	t.report()
	return nil
}

// way is how requests went, in words.
func way(direct bool) string {
	if direct {
		return "direct"
	}
	return "gateway"
}

// turns puts everything into the order in which it is measured: another one in
// each round, so that a drift of the machine is nobody's.
func (t *traffic) turns() []turn {
	h := fnv.New64a()
	h.Write([]byte(t.RunID + "/" + t.Result.ID))
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	var all []turn
	for round := range t.Values.Int("rounds") {
		var block []turn
		for _, p := range t.points {
			block = append(block, turn{p, false, round}, turn{p, true, round})
		}
		random.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
		all = append(all, block...)
	}
	return all
}
