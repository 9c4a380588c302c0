package detection

import (
	"maps"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// failing are parameters of backend-failover for a trial of seconds: 16 paths,
// and a backend that fails for 4 s.
func failing(kinds string, more ...map[string]any) map[string]any {
	set := map[string]any{
		"kinds": kinds, "routes": 4, "paths": 4, "period": "4s", "cycles": 1, "rate": 200, "connections": 64, "through": "replicas",
	}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

// failovers are the rows of backend-failover.
var failovers = []Row{
	{
		Wrong: "requests that fail are sent again so often, though no route asks for it", Scenario: "backend-failover", Parameters: failing("503"),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{MaskingRetries: n} }, 1, 2, 3),
		Finds: "masks-503", Says: "requests were sent again though no route asks for it",
	},
	{
		Wrong: "each rule asks all backends how they are, each time after so long", Scenario: "backend-failover", Parameters: failing("503"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{HealthPerRoute: d} }, 2*time.Second, time.Second, 200*ms),
		Finds: "asks-backends", Says: "requests a second came to 4 backends that no user had sent, for 16 paths",
	},
	{
		Wrong: "an endpoint that was taken away goes on getting requests for so long", Scenario: "backend-failover", Parameters: failing("removed"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{StaleEndpoint: d} }, 1400*ms, 2*time.Second, 6*time.Second),
		Finds: "still-used-removed", Says: "it still got requests",
	},
	{
		Wrong: "an endpoint that failed is left alone for so long", Scenario: "backend-failover", Parameters: failing("503"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{EjectFor: d} }, 5500*ms, 7*time.Second, 12*time.Second),
		Finds: "slow-return-503", Says: "though it was well again",
	},
}
