package detection

import (
	"fmt"
	"maps"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// counts are parameters of attached-routes for a trial of seconds.
func counts(routes int, more ...map[string]any) map[string]any {
	set := map[string]any{"routes": routes, "limit": "5s", "hold": "500ms", "increments": 0}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

// patient is for what comes late.
var patient = map[string]any{"limit": "30s"}

// by are sizes of what is wrong or not, by how much it has to do with.
func by(parameter string, f fault.Faults, values ...int) []Size {
	var all []Size
	for _, v := range values {
		all = append(all, Size{Name: fmt.Sprintf("%d %s", v, parameter), Faults: f, Parameters: map[string]any{parameter: v}})
	}
	return all
}

var attached = []Row{
	{
		Wrong: "so many routes too many are counted", Scenario: "attached-routes", Parameters: counts(20),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{Overcount: n} }, 1, 5, 100),
		Finds: "overcount", Says: "attachedRoutes counted more routes than there were", Brings: []string{"wrong-count-after-setup"},
	},
	{
		Wrong: "so many routes too few are counted", Scenario: "attached-routes", Parameters: counts(20),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{Undercount: n} }, 1, 5, 20),
		Finds: "wrong-count-after-setup", Says: "2 of 2 listeners did not count them right",
	},
	{
		Wrong: "so many routes are still counted when all are deleted", Scenario: "attached-routes", Parameters: counts(20),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{StuckCount: n} }, 1, 5, 20),
		Finds: "wrong-count-after-teardown", Says: "2 of 2 listeners still counted some", Brings: []string{"overcount"},
	},
	{
		Wrong: "only the first listener counts", Scenario: "attached-routes", Parameters: counts(10),
		Sizes: by("listeners", fault.Faults{CountsFirstListener: true}, 2, 4, 8),
		Finds: "wrong-count-after-setup", Says: "(listener l1: the count was 0 at the end, want 10)",
	},
	{
		Wrong: "routes are counted late", Scenario: "attached-routes", Parameters: counts(20, patient),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{CountLate: d} }, 2500*ms, 3500*ms, 5*time.Second),
		Finds: "count-late", Says: "attachedRoutes was right on every listener only",
	},
	{
		Wrong: "each route that is counted is a write", Scenario: "attached-routes", Parameters: counts(100, patient),
		Sizes: by("routes", fault.Faults{CountPerWrite: true}, 60, 100, 200),
		Finds: "many-writes", Says: "times for each change", Brings: []string{"count-late"},
	},
	{
		Wrong: "each write is followed by so many that change nothing", Scenario: "attached-routes", Parameters: counts(20, patient),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{NoopWrites: n} }, 1, 3, 10),
		Finds: "idle-writes", Says: "status writes changed nothing",
	},
	{
		Wrong: "a status has so many copies of its own entry", Scenario: "attached-routes", Parameters: counts(20),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{DuplicateEntries: n} }, 1, 5, 20),
		Finds: "duplicate-entries", Says: "writes several status entries",
	},
	{
		Wrong: "a status has so many entries for parents that are not the route's", Scenario: "attached-routes", Parameters: counts(20),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{ForeignEntries: n} }, 1, 5, 20),
		Finds: "entries-for-no-parent", Says: "for parents that the route does not name", Brings: []string{"not-accepted"},
	},
	{
		// Only who comes back to an entry twice is at war.
		Wrong: "entries of another controller are removed again and again", Scenario: "attached-routes", Parameters: counts(20, map[string]any{"hold": "3s"}), Rival: true,
		Sizes: by("routes", fault.Faults{RemovesOthers: true}, 2, 5, 20),
		Finds: "status-war", Says: "keep changing each other's status entries", Brings: []string{"foreign-entries", "entries-for-others-gateways", "count-late"},
	},
	{
		Wrong: "every n-th route is accepted and never served", Scenario: "attached-routes", Parameters: counts(20),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{IgnoreEvery: n} }, 20, 5, 2),
		Short: true, Finds: "not-served", Says: "were not answered by their route",
	},
	{
		Wrong: "from the n-th route on none is served, silently", Scenario: "attached-routes", Parameters: counts(20),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{Ceiling: n} }, 20, 10, 2),
		Finds: "not-served", Says: "were not answered by their route",
	},
	{
		Wrong: "from the n-th route on none is served, and the status says so", Scenario: "attached-routes", Parameters: counts(20),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{Ceiling: n, CeilingSaid: true} }, 20, 10, 2),
		Finds: "not-accepted", Says: "Accepted is False", Brings: []string{"wrong-count-after-setup", "not-served"},
	},
}
