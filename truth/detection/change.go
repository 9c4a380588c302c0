package detection

import (
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// changing are parameters of route-propagation for changes of a kind.
func changing(kind string, more ...map[string]any) map[string]any {
	return quick(2, append([]map[string]any{{"changes": kind, "rounds": 2}}, more...)...)
}

var changes = []Row{
	{
		Wrong: "replicas take changes late", Scenario: "route-propagation", Parameters: changing("header"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Propagation: d} }, 1200*ms, 1600*ms, 2500*ms),
		Finds: "change-slow", Says: "it takes long until changes are in force on every replica", Brings: []string{"slow", "status-early"},
	},
	{
		Wrong: "a changed route answers 503 for a while", Scenario: "route-propagation", Parameters: changing("header"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ErrorsOnChange: d} }, 20*ms, 200*ms, 2*time.Second),
		Finds: "change-errors", Says: "users got errors while changes came into force", Brings: []string{"errors", "slow", "status-early", "change-slow"},
	},
	{
		Wrong: "a kind of change is never taken", Scenario: "route-propagation", Parameters: quick(2, brief, map[string]any{"rounds": 1}),
		Sizes: []Size{ignoring("header"), ignoring("match"), ignoring("backend")},
		Finds: "change-ignored", Says: "changes were not in force for good on every replica within",
	},
	{
		Wrong: "a deleted route goes on being served", Scenario: "route-propagation", Parameters: changing("delete"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{KeepsDeleted: d} }, 1500*ms, 2*time.Second, 3*time.Second),
		Finds: "deleted-served", Says: "a route that was deleted went on being served for",
	},
	{
		Wrong: "a removed endpoint goes on getting requests", Scenario: "route-propagation", Parameters: changing("endpoint-removed"),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{StaleEndpoint: d} }, 1500*ms, 2*time.Second, 3*time.Second),
		Finds: "removed-endpoint-used", Says: "an endpoint that was removed from a backend still got requests for",
	},
	{
		Wrong: "routes that match all requests to a host are accepted and never served", Scenario: "route-propagation", Parameters: quick(6, brief),
		Sizes: []Size{needingMatch("host,path"), needingMatch("header,bare"), needingMatch("host+path,host,path+header")},
		Finds: "shape-never-served", Says: "was ever served, while routes that match by", Brings: []string{"never-served"},
	},
}

// needingMatch never serves some of the shapes.
func needingMatch(shapes string) Size {
	return Size{Name: shapes, Faults: fault.Faults{NeedsMatch: true}, Parameters: map[string]any{"shapes": shapes}}
}

// ignoring never takes a kind of change.
func ignoring(kind string) Size {
	return Size{Name: kind, Faults: fault.Faults{IgnoresUpdate: kind}, Parameters: map[string]any{"changes": kind}}
}
