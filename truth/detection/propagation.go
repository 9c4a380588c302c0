package detection

import (
	"maps"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

const ms = time.Millisecond

// quick are parameters of route-propagation for a trial of seconds.
func quick(routes int, more ...map[string]any) map[string]any {
	set := map[string]any{"routes": routes, "step": "4ms", "freshStep": "8ms", "settle": "100ms", "limit": "15s"}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return set
}

// brief is for what never settles.
var brief = map[string]any{"limit": "2s"}

// unsettled are findings about time, where answers are wrong again and again:
// then nothing is served for good, or by chance.
var unsettled = []string{"never-served", "slow", "status-early", "replica-late", "first-route"}

var propagation = []Row{
	{
		Wrong: "replicas take new routes late", Scenario: "route-propagation", Parameters: quick(3),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Propagation: d} }, 1200*ms, 1600*ms, 2500*ms),
		Short: true, Finds: "slow", Says: "a new route is served for good only", Brings: []string{"status-early"},
	},
	{
		Wrong: "one replica takes new routes later than the other", Scenario: "route-propagation", Parameters: quick(4),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Late: map[int]time.Duration{1: d}} }, 200*ms, 600*ms, 2*time.Second),
		Finds: "replica-late", Says: "1 of 2 replicas take a new route later than the first one", Brings: []string{"status-early", "slow"},
	},
	{
		Wrong: "each route makes the next one slower", Scenario: "route-propagation", Parameters: quick(100, map[string]any{"connections": "kept", "settle": "20ms"}),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Growth: d} }, ms, 2*ms, 5*ms),
		Finds: "grows", Says: "a new route takes longer the more routes there are", Brings: []string{"status-early"},
	},
	{
		Wrong: "the first route of a Gateway takes longer", Scenario: "route-propagation", Parameters: quick(6),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{FirstRoute: d} }, 500*ms, time.Second, 2*time.Second),
		Finds: "first-route", Says: "the first route of a Gateway took",
	},
	{
		Wrong: "statuses are written late", Scenario: "route-propagation", Parameters: quick(3),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Status: d} }, 1500*ms, 2*time.Second, 3*time.Second),
		Finds: "status-late", Says: "after every replica served a route that it was accepted",
	},
	{
		Wrong: "the status runs ahead of the traffic", Scenario: "route-propagation", Parameters: quick(4),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{StatusEarly: d} }, 150*ms, 500*ms, 1500*ms),
		Finds: "status-early", Says: "before every replica served it", Brings: []string{"slow"},
	},
	{
		Wrong: "every n-th status is about the generation before", Scenario: "route-propagation", Parameters: quick(10, brief),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{StaleGeneration: n} }, 5, 2, 1),
		Finds: "not-accepted", Says: "Accepted is of generation 0, not 1",
	},
	{
		Wrong: "every n-th route is accepted and never served", Scenario: "route-propagation", Parameters: quick(10, brief),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{IgnoreEvery: n} }, 10, 5, 2),
		Finds: "never-served", Says: "new routes were not served for good within",
	},
	{
		Wrong: "from the n-th route on none is served, silently", Scenario: "route-propagation", Parameters: quick(20, brief),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{Ceiling: n} }, 12, 6, 2),
		Finds: "ceiling", Says: "while the status of 5 of these said that they were accepted", Brings: []string{"never-served"},
	},
	{
		Wrong: "from the n-th route on none is served, and the status says so", Scenario: "route-propagation", Parameters: quick(20, brief),
		Sizes: sizes(func(n int) fault.Faults { return fault.Faults{Ceiling: n, CeilingSaid: true} }, 12, 6, 2),
		Finds: "ceiling", Says: "the status of none of these said that it was accepted", Brings: []string{"never-served", "not-accepted"},
	},
	{
		Wrong: "a new route answers 503 for a while", Scenario: "route-propagation", Parameters: quick(4),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{ErrorsOnChange: d} }, 20*ms, 200*ms, 2*time.Second),
		Finds: "errors", Says: "while new routes came into force, users got", Brings: []string{"status-early", "slow"},
	},
	{
		Wrong: "a new route is gone again for a while", Scenario: "route-propagation", Parameters: quick(4),
		Sizes: sizes(func(d time.Duration) fault.Faults { return fault.Faults{Flaps: d} }, 100*ms, 500*ms, 1500*ms),
		Finds: "flaps", Says: "a replica that had served the new route answered 404 again", Brings: []string{"status-early", "slow"},
	},
	{
		Wrong: "every n-th request gets a 503", Scenario: "route-propagation", Parameters: quick(8, brief),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{ErrorEvery: n} }, 200, 50, 10),
		Finds: "errors", Says: "× status 503", Brings: append([]string{"errors-at-rest"}, unsettled...),
	},
	{
		Wrong: "the connection of every n-th request is reset", Scenario: "route-propagation", Parameters: quick(8, brief),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{DropEvery: n} }, 200, 50, 10),
		Finds: "errors", Says: "× reset", Brings: append([]string{"errors-at-rest"}, unsettled...),
	},
	{
		Wrong: "every n-th request waits for 700 ms", Scenario: "route-propagation", Parameters: quick(8, brief),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{HangEvery: n, HangFor: 700 * ms} }, 200, 50, 20),
		Finds: "slow-answers", Says: "answers took longer than", Brings: unsettled,
	},
	{
		Wrong: "every n-th request is served by another route", Scenario: "route-propagation", Parameters: quick(8, brief),
		Sizes: sizes(func(n int64) fault.Faults { return fault.Faults{Misroute: n} }, 200, 50, 10),
		Finds: "misrouted", Says: "answers came from another route", Brings: append([]string{"errors"}, unsettled...),
	},
}
