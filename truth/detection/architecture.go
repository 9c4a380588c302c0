package detection

import "github.com/gatemark/gatemark/truth/fault"

// apart are parameters of architecture where Gateways have no Service that
// leads to them.
func apart(requests int, limit string) map[string]any {
	return map[string]any{"ask": "replicas", "requests": requests, "limit": limit}
}

var architectures = []Row{
	{
		Wrong: "Gateways of all namespaces with one port share their routes", Scenario: "architecture",
		Sizes: []Size{
			{Name: "asked 5 times", Faults: fault.Faults{Merges: true}, Parameters: apart(5, "30s")},
			{Name: "asked 20 times", Faults: fault.Faults{Merges: true}, Parameters: apart(20, "30s")},
			{Name: "asked 100 times", Faults: fault.Faults{Merges: true}, Parameters: apart(100, "30s")},
		},
		Finds: "gateways-bleed", Says: "Gateways of two namespaces are not kept apart",
	},
	{
		Wrong: "a second Gateway is refused", Scenario: "architecture",
		Sizes: []Size{
			{Name: "waited for 8 s", Faults: fault.Faults{SingleGateway: true}, Parameters: apart(5, "8s")},
			{Name: "waited for 15 s", Faults: fault.Faults{SingleGateway: true}, Parameters: apart(5, "15s")},
			{Name: "waited for 30 s", Faults: fault.Faults{SingleGateway: true}, Parameters: apart(5, "30s")},
		},
		Finds: "single-gateway", Says: "one Gateway is all that there can be",
	},
}
