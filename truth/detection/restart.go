package detection

import (
	"maps"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// restarting are parameters of plane-restart for a trial of seconds.
func restarting(kinds string, more ...map[string]any) map[string]any {
	set := map[string]any{
		"kinds": kinds, "iterations": 2, "rate": 250, "connections": 8, "sockets": 8, "rest": "500ms", "watch": "1s", "settle": "300ms", "limit": "20s",
	}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

var restarts = []Row{
	{
		Wrong: "a new replica says that it is ready, and has no routes for so long", Scenario: "plane-restart", Parameters: restarting("none,scale-1-2-1", map[string]any{"iterations": 1}), Workloads: true,
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ReadyEarly: d} }, 500*ms, time.Second, 4*time.Second),
		Finds: "early-scale-1-2", Says: "new pods were given users before they had their routes", Brings: []string{"errors-scale-1-2", "sockets-scale-2-1"},
	},
	{
		Wrong: "a control plane that starts tells replicas of no routes for so long", Scenario: "plane-restart", Parameters: restarting("none,control-kill", map[string]any{"iterations": 1}), Workloads: true,
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ForgetsOnStart: d} }, 200*ms, time.Second, 4*time.Second),
		Finds: "errors-control-kill", Says: "while the control plane was killed (once), users got", Brings: []string{"changes-wait-control-kill"},
	},
	{
		Wrong: "a control plane that starts does nothing for so long", Scenario: "plane-restart", Parameters: restarting("none,control-kill", map[string]any{"iterations": 1}), Workloads: true,
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{StartsLate: d} }, 6*time.Second, 8*time.Second, 12*time.Second),
		Finds: "changes-wait-control-kill", Says: "changes had to wait",
	},
	{
		Wrong: "each change ends all WebSockets", Scenario: "plane-restart", Parameters: restarting("none,control-restart", map[string]any{"iterations": 1}), Workloads: true,
		Sizes: by("sockets", fault.Faults{EndsSocketsOnChange: true}, 4, 8, 16),
		Short: true, Finds: "sockets-control-restart", Says: "though no pod of the data plane had to end",
	},
	{
		Wrong: "every n-th request fails, restarted or not", Scenario: "plane-restart", Parameters: restarting("none", map[string]any{"iterations": 4}), Workloads: true,
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{ErrorEvery: n} }, 200, 50, 10),
		Finds: "errors-without-event", Says: "while nothing happened, users got",
	},
}
