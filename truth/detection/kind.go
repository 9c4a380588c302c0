package detection

import (
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// of are parameters for another kind of route.
func of(kind string, set map[string]any) map[string]any {
	set["route"] = kind
	return set
}

// otherKinds are of GRPCRoutes and TLSRoutes: the same faults, found by other
// questions.
var otherKinds = []Row{
	{
		Wrong: "replicas take new GRPCRoutes late", Scenario: "route-propagation", Parameters: of("GRPCRoute", quick(3)),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Propagation: d} }, 1200*ms, 1600*ms, 2500*ms),
		Finds: "slow", Says: "a new route is served for good only", Brings: []string{"status-early"},
	},
	{
		Wrong: "replicas take new TLSRoutes late", Scenario: "route-propagation", Parameters: of("TLSRoute", quick(3)),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Propagation: d} }, 1200*ms, 1600*ms, 2500*ms),
		Finds: "slow", Says: "a new route is served for good only", Brings: []string{"status-early"},
	},
	{
		Wrong: "a new GRPCRoute answers UNAVAILABLE for a while", Scenario: "route-propagation", Parameters: of("GRPCRoute", quick(4)),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ErrorsOnChange: d} }, 20*ms, 200*ms, 2*time.Second),
		Finds: "errors", Says: "× status 503", Brings: []string{"status-early", "slow"},
	},
	{
		Wrong: "every n-th TLSRoute is accepted and never served", Scenario: "route-propagation", Parameters: of("TLSRoute", quick(10, brief)),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{IgnoreEvery: n} }, 10, 5, 2),
		Short: true, Finds: "never-served", Says: "new routes were not served for good within",
	},
	{
		Wrong: "a changed TLSRoute closes connections for a while", Scenario: "route-propagation", Parameters: of("TLSRoute", changing("backend")),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ErrorsOnChange: d} }, 50*ms, 200*ms, 2*time.Second),
		Finds: "change-errors", Says: "users got errors while changes came into force", Brings: []string{"slow", "status-early", "change-slow"},
	},
	{
		Wrong: "a kind of change to GRPCRoutes is never taken", Scenario: "route-propagation", Parameters: of("GRPCRoute", quick(2, brief, map[string]any{"rounds": 1})),
		Sizes: []Size{ignoring("match"), ignoring("header"), ignoring("backend")},
		Finds: "change-ignored", Says: "changes were not in force for good on every replica within",
	},
	{
		Wrong: "a GRPCRoute whose rule was changed answers UNAVAILABLE for so long", Scenario: "route-change", Parameters: of("GRPCRoute", underTraffic("none,service")),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ErrorsOnChange: d} }, 50*ms, 200*ms, time.Second),
		Finds: "errors-service", Says: "while a route was sent to another Service (4 times), users got", Brings: []string{"slow-service"},
	},
	{
		Wrong: "a TLSRoute whose rule was changed closes connections for so long", Scenario: "route-change", Parameters: of("TLSRoute", underTraffic("none,service")),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ErrorsOnChange: d} }, 100*ms, 300*ms, time.Second),
		Finds: "errors-service", Says: "while a route was sent to another Service (4 times), users got", Brings: []string{"slow-service"},
	},
}
