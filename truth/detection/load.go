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
		Finds: "slow", Says: "through the gateway and",
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
