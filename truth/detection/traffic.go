package detection

import (
	"maps"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// underTraffic are parameters of route-change for a trial of seconds.
func underTraffic(kinds string, more ...map[string]any) map[string]any {
	set := map[string]any{"kinds": kinds, "iterations": 2, "rate": 300, "rest": "200ms", "watch": "500ms", "settle": "200ms", "limit": "8s"}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

var traffic = []Row{
	{
		Wrong: "a route whose rule was changed answers 503 for so long", Scenario: "route-change", Parameters: underTraffic("none,service"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ErrorsOnChange: d} }, 50*ms, 200*ms, time.Second),
		Finds: "errors-service", Says: "while a route was sent to another Service (4 times), users got", Brings: []string{"slow-service"},
	},
	{
		Wrong: "each change closes all connections", Scenario: "route-change", Parameters: underTraffic("none,service"),
		Sizes: by("connections", fault.Faults{DropsKeptOnChange: true}, 4, 16, 32),
		Finds: "closes-connections-service", Says: "kept connections at each change", Brings: []string{"errors-service", "neighbour-service"},
	},
	{
		Wrong: "replicas take a change late", Scenario: "route-change", Parameters: underTraffic("none,service"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Propagation: d} }, 1200*ms, 1600*ms, 2500*ms),
		Finds: "slow-service", Says: "users got the old version for long",
	},
	{
		Wrong: "a route is served for so long after it was deleted", Scenario: "route-change", Parameters: underTraffic("none,recreate"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{KeepsDeleted: d} }, 1500*ms, 2*time.Second, 3*time.Second),
		Finds: "slow-recreate", Says: "users got the old version for long",
	},
	{
		Wrong: "another backend is never taken", Scenario: "route-change", Parameters: underTraffic("none,service", map[string]any{"limit": "3s"}),
		Sizes: by("iterations", fault.Faults{IgnoresUpdate: "backend"}, 1, 2, 3),
		Finds: "never-in-force-service", Says: "did not take effect within 3s: users kept getting the old version",
	},
	{
		Wrong: "another weight is never taken", Scenario: "route-change", Parameters: underTraffic("none,weight", map[string]any{"limit": "3s"}),
		Sizes: by("iterations", fault.Faults{IgnoresUpdate: "weight"}, 1, 2, 3),
		Finds: "never-in-force-weight", Says: "did not take effect within 3s: users kept getting the old version",
	},
	{
		Wrong: "one invalid route breaks its listener", Scenario: "route-change", Parameters: underTraffic("none,invalid"),
		Sizes: by("iterations", fault.Faults{BlastRadius: true}, 1, 2, 3),
		Finds: "neighbour-invalid", Says: "users of a route that nobody changed got", Brings: []string{"errors-without-change"},
	},
	{
		Wrong: "a new certificate is shown late", Scenario: "route-change", Parameters: underTraffic("none,certificate"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{CertificateLate: d} }, 1200*ms, 1600*ms, 2500*ms),
		Finds: "slow-certificate", Says: "users got the old version for long",
	},
	{
		Wrong: "requests go to a deleted pod for so long", Scenario: "route-change", Parameters: underTraffic("none,endpoint", map[string]any{"iterations": 1}),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{StaleEndpoint: d} }, 1400*ms, 1700*ms, 3*time.Second),
		Finds: "deleted-pod-endpoint", Says: "requests still went to the deleted pod", Brings: []string{"errors-endpoint"},
	},
	{
		Wrong: "every n-th request fails, changed or not", Scenario: "route-change", Parameters: underTraffic("none"),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{ErrorEvery: n} }, 200, 50, 10),
		Finds: "errors-without-change", Says: "while nothing was changed, users got",
	},
}
