package detection

import (
	"fmt"
	"maps"

	"github.com/gatemark/gatemark/truth/fault"
)

// A Row of the matrix is one thing that is wrong, and the finding that tells
// of it.
type Row struct {
	// Wrong says what it is, in a user's words.
	Wrong    string
	Scenario string
	// Parameters are set beside the scenario's defaults, for every size.
	Parameters map[string]any
	Sizes      []Size
	// Finds is the name of the finding that must come, and Says words of its
	// sentence. Both are empty where nothing is wrong.
	Finds, Says string
	// Brings are the names of further findings that what is wrong brings along
	// by its nature: traffic that comes late comes after its status, too. A
	// scenario may make them or not.
	Brings []string
	// Rival has another controller write statuses of the same routes.
	Rival bool
	// Workloads has truth's planes be pods of Deployments.
	Workloads bool
	// Metered lets the scenario see what the process uses that all of it runs in.
	Metered bool
	// Alone is tried with nothing beside it, as what is metered is, and what is
	// clean: what is wrong is a cost.
	Alone bool
	// Short belongs to what every run of the tests tries, in its first size.
	Short bool
}

// A Size is how wrong it is.
type Size struct {
	Name   string
	Faults fault.Faults
	// Parameters are set for this size only.
	Parameters map[string]any
}

// parameters are those of a trial in a size.
func (r Row) parameters(s Size) map[string]any {
	set := map[string]any{}
	maps.Copy(set, r.Parameters)
	maps.Copy(set, s.Parameters)
	return set
}

// alone tells whether nothing may run beside a trial.
func (r Row) alone() bool { return r.Alone || r.Metered || r.Finds == "" }

// sizes are those of a fault that is measured in something.
func sizes[T any](of func(T) fault.Faults, values ...T) []Size {
	var all []Size
	for _, v := range values {
		all = append(all, Size{Name: fmt.Sprint(v), Faults: of(v)})
	}
	return all
}

// Matrix is every row, in the order in which they are shown.
func Matrix() []Row {
	var all []Row
	for _, rows := range [][]Row{propagation, changes, traffic, loads, pairs, attached, architectures, otherKinds, restarts, searches, elastics, failovers, scales} {
		all = append(all, rows...)
	}
	return all
}

// Clean are rows in which nothing is wrong.
func Clean() []Row {
	return []Row{
		{Wrong: "nothing", Scenario: "route-propagation", Parameters: quick(10), Sizes: []Size{{Name: "10 routes"}}, Short: true},
		{Wrong: "nothing", Scenario: "route-propagation", Parameters: quick(8, map[string]any{"changes": "all", "shapes": "all", "rounds": 1}), Sizes: []Size{{Name: "all kinds of change and shapes"}}},
		{Wrong: "nothing", Scenario: "route-change", Parameters: underTraffic("none,service,invalid", map[string]any{"iterations": 1}), Sizes: []Size{{Name: "2 changes each"}}, Short: true},
		{Wrong: "nothing, with GRPCRoutes", Scenario: "route-propagation", Parameters: of("GRPCRoute", quick(7, map[string]any{"changes": "all", "shapes": "all", "rounds": 1})), Sizes: []Size{{Name: "all kinds of change and shapes"}}},
		{Wrong: "nothing, with TLSRoutes", Scenario: "route-propagation", Parameters: of("TLSRoute", quick(4, map[string]any{"changes": "all", "rounds": 1})), Sizes: []Size{{Name: "all kinds of change"}}},
		{Wrong: "nothing, with GRPCRoutes", Scenario: "route-change", Parameters: of("GRPCRoute", underTraffic("none,service,match", map[string]any{"iterations": 1})), Sizes: []Size{{Name: "2 changes each"}}},
		{Wrong: "nothing, with TLSRoutes", Scenario: "route-change", Parameters: of("TLSRoute", underTraffic("none,service,invalid", map[string]any{"iterations": 1})), Sizes: []Size{{Name: "2 changes each"}}},
		{Wrong: "nothing", Scenario: "traffic", Parameters: underLoad(), Sizes: []Size{{Name: "1 and 8 connections"}}, Short: true},
		{Wrong: "nothing", Scenario: "added-latency", Parameters: inPairs(map[string]any{"rate": 125}), Sizes: []Size{{Name: "8 blocks"}}},
		{Wrong: "nothing", Scenario: "capacity", Parameters: searching(map[string]any{"backends": 3}), Sizes: []Size{{Name: "up to 800 requests/s"}}},
		{Wrong: "nothing", Scenario: "route-scale", Parameters: many(map[string]any{"restart": "both"}), Sizes: []Size{{Name: "40 routes in 4 namespaces"}}, Workloads: true},
		{Wrong: "nothing", Scenario: "listenerset-scale", Parameters: domains(), Sizes: []Size{{Name: "48 routes of 12 domains"}}},
		{Wrong: "nothing, while memory is watched", Scenario: "route-scale", Parameters: many(map[string]any{"churn": "64s", "singles": 0}), Sizes: []Size{{Name: "changes for 64 s"}}, Metered: true},
		{Wrong: "nothing", Scenario: "attached-routes", Parameters: counts(20), Sizes: []Size{{Name: "20 routes"}}, Short: true},
		{Wrong: "nothing", Scenario: "architecture", Parameters: apart(10, "30s"), Sizes: []Size{{Name: "two Gateways"}}, Short: true},
		{Wrong: "nothing", Scenario: "plane-restart", Parameters: restarting("all", map[string]any{"iterations": 1}), Sizes: []Size{{Name: "every kind once"}},
			Workloads: true, Brings: []string{"sockets-data-restart", "sockets-scale-2-1", "sockets-scale-3-2"}}, // of pods that end
		{Wrong: "nothing", Scenario: "backend-failover", Parameters: failing("503,removed,terminating"), Sizes: []Size{{Name: "three ways to fail"}}},
		{Wrong: "nothing", Scenario: "elastic-latency", Parameters: elastic("all", map[string]any{"rounds": 1}), Sizes: []Size{{Name: "every kind once"}}},
		{Wrong: "nothing, beside another controller", Scenario: "attached-routes", Parameters: counts(20), Sizes: []Size{{Name: "20 routes"}},
			Rival: true, Brings: []string{"entries-for-others-gateways"}}, // which the other one writes
	}
}
