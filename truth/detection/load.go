package detection

import (
	"maps"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// underLoad are parameters of traffic for a trial of some ten seconds. There are
// no CPUs that are anybody's alone in one process, so that the rates are small.
func underLoad(more ...map[string]any) map[string]any {
	set := map[string]any{"through": "replica", "connections": "1,8", "rates": "max,100", "rounds": 1, "warmup": "200ms", "duration": "700ms"}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

var loads = []Row{
	{
		Wrong: "every n-th request under load gets a 503", Scenario: "traffic", Parameters: underLoad(),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{ErrorEvery: n} }, 100, 50, 10),
		Finds: "errors", Says: "requests through the gateway failed",
	},
	{
		Wrong: "each request opens a connection to the backend", Scenario: "traffic", Parameters: underLoad(),
		Sizes: withLoad("connections", fault.Faults{ConnectionPerRequest: true}, "1,8", "1,16", "4,32"),
		Finds: "connection-per-request", Says: "connections to the backend for", Brings: []string{"slow"},
	},
	{
		Wrong: "each request costs so much time of a CPU", Scenario: "traffic", Parameters: underLoad(),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Latency: d} }, 4*ms, 10*ms, 30*ms),
		Alone: true, Finds: "slow", Says: "through the gateway and",
	},
}

// inPairs are parameters of added-latency for a trial of less than a minute. The
// rate leaves a CPU that is shared with everything else idle for most of the
// time, so that what is added is not the length of a queue.
func inPairs(more ...map[string]any) map[string]any {
	set := map[string]any{"through": "replica", "rate": 25, "duration": "800ms", "warmup": "100ms", "blocks": 8}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

var pairs = []Row{
	{
		Wrong: "each request costs so much time of a CPU", Scenario: "added-latency", Parameters: inPairs(),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Latency: d} }, 5*ms, 10*ms, 20*ms),
		Alone: true, Finds: "added-p50", Says: "the gateway adds", Brings: []string{"added-p99"},
	},
	{
		// 4 in 100 are beyond the p95, and are the p99.
		Wrong: "every n-th request waits for 300 ms", Scenario: "added-latency", Parameters: inPairs(map[string]any{"rate": 125}),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{HangEvery: n, HangFor: 300 * ms} }, 40, 30, 25),
		Finds: "added-p99", Says: "to the slowest hundredth of the answers",
	},
	{
		Wrong: "every n-th request gets a 503, while latency is measured", Scenario: "added-latency", Parameters: inPairs(map[string]any{"rate": 100}),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{ErrorEvery: n} }, 100, 50, 10),
		Finds: "errors", Says: "requests through the gateway failed",
	},
}

// withLoad sets a parameter to each of some lists.
func withLoad(parameter string, f fault.Faults, lists ...string) []Size {
	var all []Size
	for _, list := range lists {
		all = append(all, Size{Name: list + " " + parameter, Faults: f, Parameters: map[string]any{parameter: list}})
	}
	return all
}
