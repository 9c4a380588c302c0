package detection

import (
	"maps"

	"github.com/gatemark/gatemark/truth/fault"
)

// searching are parameters of capacity for a search of seconds, of which the
// highest rate is small.
func searching(more ...map[string]any) map[string]any {
	set := map[string]any{
		"through": "replica", "start": 200, "most": 800, "resolution": 0.1, "duration": "1s", "confirm": "2s", "warmup": "100ms", "cooldown": "200ms",
		"connections": 8, "backends": 1,
	}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

var searches = []Row{
	{
		Wrong: "every n-th request gets a 503, however little is asked", Scenario: "capacity", Parameters: searching(),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{ErrorEvery: n} }, 200, 50, 10),
		Finds: "errors", Says: "requests fail though the gateway is not at its limit",
	},
	{
		Wrong: "so many requests in a second let the data plane crash", Scenario: "capacity", Parameters: searching(), Workloads: true,
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{CrashesAbove: n} }, 600, 300, 150),
		Finds: "restarted", Says: "the data plane was killed or restarted under load",
	},
}
