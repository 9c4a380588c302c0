package detection

import (
	"maps"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// many are parameters of route-scale for a trial of seconds.
func many(more ...map[string]any) map[string]any {
	set := map[string]any{
		"namespaces": 4, "routes": 10, "steps": 4, "rest": "500ms", "churn": "2s", "rate": 20, "singles": 2, "restart": "none", "limit": "30s",
	}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

// domains are parameters of listenerset-scale for a trial of seconds.
func domains(more ...map[string]any) map[string]any {
	return many(append([]map[string]any{{"namespaces": 3, "sets": 4, "routes": 4}}, more...)...)
}

var scales = []Row{
	{
		Wrong: "from the n-th route on nothing is taken any more, silently", Scenario: "route-scale", Parameters: many(map[string]any{"limit": "2s"}),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{Ceiling: n} }, 35, 20, 5),
		Short: true, Finds: "ceiling", Says: "it is silent about that",
	},
	{
		Wrong: "from the n-th route on nothing is taken any more, and the status says so", Scenario: "route-scale", Parameters: many(map[string]any{"limit": "2s"}),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{Ceiling: n, CeilingSaid: true} }, 35, 20, 5),
		Finds: "ceiling", Says: "the status says",
	},
	{
		Wrong: "every n-th route is accepted and never served", Scenario: "route-scale", Parameters: many(map[string]any{"limit": "2s"}),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{IgnoreEvery: n} }, 20, 5, 2),
		Finds: "ignored", Says: "were not answered by themselves on every replica",
	},
	{
		Wrong: "every n-th status is about the generation before", Scenario: "route-scale", Parameters: many(map[string]any{"limit": "2s", "churn": "0s", "singles": 0}),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{StaleGeneration: n} }, 5, 3, 2),
		Finds: "not-accepted", Says: "Accepted is of generation 0, not 1",
	},
	{
		Wrong: "edits of routes are never taken", Scenario: "route-scale", Parameters: many(map[string]any{"limit": "2s", "singles": 0}),
		Sizes: by("rate", fault.Faults{IgnoresUpdate: "header"}, 5, 20, 50),
		Finds: "stale-after-changes", Says: "were not as they were to be",
	},
	{
		Wrong: "a new replica says that it is ready, and has no routes for so long", Scenario: "route-scale", Parameters: many(map[string]any{"restart": "data", "churn": "0s"}), Workloads: true,
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ReadyEarly: d} }, 500*ms, time.Second, 4*time.Second),
		Finds: "ready-early", Says: "new pods were given users before they had all of them",
	},
	{
		Wrong: "routes are served for so long after they were deleted", Scenario: "route-scale", Parameters: many(map[string]any{"limit": "2s", "churn": "0s", "singles": 0}),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{KeepsDeleted: d} }, 4*time.Second, 5*time.Second, 7*time.Second),
		Finds: "deleted-served", Says: "of them were still served",
	},
	{
		Wrong: "the control plane leaks so many MiB in a minute", Scenario: "route-scale", Parameters: many(map[string]any{"churn": "64s", "singles": 0}), Metered: true,
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{Leak: n << 20} }, 40, 80, 160),
		Finds: "leak-control-plane", Says: "grows without an end in sight",
	},
	{
		Wrong: "from the n-th route on nothing is taken any more, silently", Scenario: "listenerset-scale", Parameters: domains(map[string]any{"limit": "2s"}),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{Ceiling: n} }, 40, 20, 5),
		Finds: "ceiling", Says: "it is silent about that",
	},
}
