package detection

import (
	"maps"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// elastic are parameters of elastic-latency for a trial of seconds, with pods
// that come and go in this process.
func elastic(kinds string, more ...map[string]any) map[string]any {
	set := map[string]any{"rates": "100", "kinds": kinds, "rounds": 2, "step": "3s", "backends": 2, "connections": 16, "through": "replicas"}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

var elastics = []Row{
	{
		Wrong: "nothing is served for so long when endpoints change", Scenario: "elastic-latency", Parameters: elastic("scale"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Stall: d} }, 300*ms, 900*ms, 1300*ms),
		Finds: "spike-scale-up", Says: "when the backend got one more pod (2 times), requests had to wait", Brings: []string{"spike-scale-down"},
	},
	{
		Wrong: "a route that gets a header answers 503 for so long", Scenario: "elastic-latency", Parameters: elastic("header"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ErrorsOnChange: d} }, 100*ms, 300*ms, time.Second),
		Finds: "errors-header", Says: "when the route got a response header (once), users got", Brings: []string{"errors-back"},
	},
	{
		Wrong: "a new backend pod is never used", Scenario: "elastic-latency", Parameters: elastic("scale"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Propagation: d} }, 4*time.Second, 7*time.Second, 10*time.Second),
		Finds: "never-in-force-scale-up", Says: "users saw nothing of it within 3s", Brings: []string{"errors-scale-up", "errors-scale-down", "errors-without-event"},
	},
	{
		Wrong: "every n-th request fails, scaled or not", Scenario: "elastic-latency", Parameters: elastic("scale", map[string]any{"rounds": 1}),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{ErrorEvery: n} }, 100, 50, 10),
		Finds: "errors-without-event", Says: "while nothing happened, users got",
	},
}
