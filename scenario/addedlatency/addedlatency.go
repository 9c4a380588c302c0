// Package addedlatency asks what the gateway adds to latency: requests go
// through it and straight to what is behind it, in short blocks in random
// order, and what differs by no more than two measurements of the direct path do
// is called no difference.
package addedlatency

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// Scenario is the question, and the procedure that answers it.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "added-latency",
		Title:    "Added latency",
		Question: "How much longer does a request take through the gateway than straight to what is behind it?",
		Method: "Attackers in pods of their own send requests at a fixed rate by the clock, and times count from when they were sent. A block is three short measurements in random order: one through the gateway, two of the direct path. " +
			"What the gateway adds to a quantile is the mean over the blocks of its difference to the direct path, with an interval. How much the two of the direct path differ is the noise floor: " +
			"a difference that is not above it, or whose interval holds zero, is called no difference.",
		Headline: []string{"added-p50", "added-p99", "errors"},
	},
	Parameters: append([]scenario.Parameter{
		{Name: "rate", Default: 200, Min: 1, Max: 1_000_000, Help: "requests a second"},
		attack.RatesForParameter,
		{Name: "connections", Default: 8, Min: 1, Max: 100_000, Help: "connections that are kept open"},
		{Name: "upstream", Default: toEcho, OneOf: []string{toEcho, toAPIServer}, Help: "what is behind the gateway"},
		{Name: "verb", Default: "get", OneOf: []string{"get", "create"}, Help: "what the kube-apiserver is asked for ConfigMaps"},
		{Name: "auth", Default: byCertificate, OneOf: []string{byCertificate, byToken, byFreshToken}, Help: "how clients tell the kube-apiserver who they are"},
		{Name: "target", Default: "", Help: "URL of a proxy before the kube-apiserver, which is measured in place of a Gateway"},
		{Name: "payload", Default: 0, Min: 0, Max: 64 << 20, Help: "size of the answers' bodies in bytes"},
		attack.ThroughParameter,
		{Name: "blocks", Default: 20, Min: 1, Max: 10_000, Help: "blocks of three measurements; intervals need 6"},
		{Name: "warmup", Default: 200 * time.Millisecond, Min: float64(50 * time.Millisecond), Max: float64(10 * time.Minute), Help: "how long requests are sent before each measurement"},
		{Name: "duration", Default: time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Hour), Help: "how long each measurement lasts"},
		{Name: "timeout", Default: 5 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "how long a request may take"},
		{Name: "attackers", Default: 1, Min: 1, Max: 100, Help: "pods that send; each needs a connection"},
		{Name: "backends", Default: 1, Min: 1, Max: 100, Help: "pods of the backend"},
	}, attack.WireParameters...),
	Check: check,
	Writes: func(v scenario.Values) []scenario.Write {
		all := attack.Writes(v)
		all[1] = objectsOf(v)
		return all
	},
	Rights: rights,
	Estimate: func(v scenario.Values) time.Duration {
		each := v.Duration("warmup") + v.Duration("duration") + 1300*time.Millisecond
		return 25*time.Second + time.Duration(len(ways)*v.Int("blocks"))*each
	},
	AnyDialect: true,
	Run: func(ctx context.Context, t *scenario.Trial) error {
		return (&trial{Place: &attack.Place{Trial: t}}).run(ctx)
	},
}

// What is behind the gateway.
const (
	toEcho      = "echo"
	toAPIServer = "kube-apiserver"
)

// leastRequests are those that a p99 takes.
const leastRequests = 100

// objectsOf are those that a trial makes once. What requests create comes on top.
func objectsOf(v scenario.Values) scenario.Write {
	switch {
	case v.String("upstream") == toEcho:
		return scenario.Write{Verb: "apply", Kind: "Deployment, Service, Gateway, HTTPRoute", Count: 4}
	case v.String("target") != "":
		return scenario.Write{Verb: "apply", Kind: "ServiceAccount, Role, RoleBinding, ConfigMap", Count: 3 + objects}
	}
	return scenario.Write{Verb: "apply", Kind: "Deployment, Service, Gateway, route, EndpointSlice, ServiceAccount, Role, RoleBinding, ConfigMap", Count: 9 + objects}
}

// check finds attackers that would go without a connection, and measurements
// that are too short for a p99.
func check(v map[string]any) (problems []error) {
	connections, ok := v["connections"].(int)
	if attackers, ok2 := v["attackers"].(int); ok && ok2 && connections < attackers {
		problems = append(problems, fmt.Errorf("connections: each of %d attackers needs one, and %d are fewer", attackers, connections))
	}
	rate, ok := v["rate"].(int)
	scaled, _ := v[attack.RatesForParameter.Name].(int)
	if d, ok2 := v["duration"].(time.Duration); ok && ok2 && scaled == 0 && float64(rate)*d.Seconds() < leastRequests {
		problems = append(problems, fmt.Errorf("duration: %s at %d requests/s are fewer than the %d requests that a p99 takes", d, rate, leastRequests))
	}
	if err := attack.CheckWire(v); err != nil {
		problems = append(problems, err)
	}
	if v["upstream"] == toAPIServer {
		for _, p := range attack.WireParameters {
			if value, ok := v[p.Name]; ok && value != p.Default {
				problems = append(problems, fmt.Errorf("%s: a kube-apiserver is asked by HTTP/1.1 over TLS on kept connections", p.Name))
			}
		}
	}
	if text, _ := v["target"].(string); text != "" {
		problems = append(problems, checkTarget(text, v["upstream"])...)
	}
	return problems
}

func checkTarget(text string, upstream any) (problems []error) {
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		problems = append(problems, fmt.Errorf("target: %q is not a URL such as https://proxy.example:8443", text))
	}
	if upstream != toAPIServer {
		problems = append(problems, fmt.Errorf("target: what is behind it must be a kube-apiserver: set upstream to that"))
	}
	return problems
}

// trial is one trial of added-latency.
type trial struct {
	*attack.Place
	upstream upstream
	rate     int
	seen     []*seen
	// fromDue: times count from when requests were due, and not from when they
	// were sent. See judge.
	fromDue bool
}

// A way is one of the three measurements of a block.
type way string

const (
	gateway     way = "gateway"
	direct      way = "direct"
	directAgain way = "direct again"
)

var ways = []way{gateway, direct, directAgain}

// seen is what a measurement has shown, in a block from 0 on.
type seen struct {
	block int
	way   way
	*attack.Seen
	// account is what the API servers counted meanwhile, nil where the upstream
	// is another.
	account account
}

func (t *trial) run(ctx context.Context) (err error) {
	t.upstream = &echo{t}
	if t.Values.String("upstream") == toAPIServer {
		t.upstream = &apiServer{trial: t}
	}
	if err := t.upstream.prepare(ctx); err != nil {
		return err
	}
	t.rate = max(1, int(math.Round(float64(t.Values.Int("rate"))*t.Scale())))
	if err := t.Start(ctx, t.Values.Int("attackers")); err != nil {
		return err
	}
	defer func() { err = t.Remove(ctx, err) }()
	t.Begin() // what was used before is the attackers' start
	watch := scenario.WatchSelf()
	defer watch.Stop()
	if err := t.measureAll(ctx); err != nil {
		return err
	}
	watch.ClockGate(t.Trial)
	t.report()
	return nil
}

func (t *trial) measureAll(ctx context.Context) error {
	orders := t.orders()
	for i, order := range orders {
		t.Progress("block %d of %d", i+1, len(orders))
		for _, w := range order {
			one, err := t.measure(ctx, w)
			if err != nil {
				return scenario.Invalid{Reason: fmt.Errorf("after %d of %d blocks: %s: %w", i, len(orders), w, err)}
			}
			one.block = i
			t.seen = append(t.seen, one)
		}
	}
	return nil
}

// orders are those in which each block's measurements are made: another one
// each time, so that a drift of the machine is nobody's.
func (t *trial) orders() [][]way {
	random := rand.New(rand.NewPCG(t.seed(), 0))
	all := make([][]way, t.Values.Int("blocks"))
	for i := range all {
		for _, at := range random.Perm(len(ways)) {
			all[i] = append(all[i], ways[at])
		}
	}
	return all
}

// seed makes orders and intervals the same where the same trial is made again.
func (t *trial) seed() uint64 {
	h := fnv.New64a()
	h.Write([]byte(t.RunID + "/" + t.Result.ID))
	return h.Sum64()
}
