package routescale

import (
	"context"
	"slices"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// ListenerSets is listenerset-scale: route-scale with domains in place of
// Services.
var ListenerSets = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "listenerset-scale",
		Title:    "Many TLS domains",
		Question: "What do many TLS domains cost, each a ListenerSet with a certificate and routes of its own, and at how many does it end, silently or not?",
		Method: "ListenerSets of many namespaces, each with a host name, a certificate and a few routes of its own, are created in steps; the next step begins when every one is programmed and every route of the one before is accepted and answers, " +
			"on a connection that was opened with its host as server name and shown its domain's certificate, with its own marker on every replica. Then they rest, routes are edited at a constant rate by the clock, they rest again, both planes are restarted, everything is deleted, and what remains rests once more. " +
			"Between these, every route is asked on every replica. Use of resources is read at the edges of each part.",
		Headline: []string{"routes-served", "step-served", "bytes-per-route-data-plane"},
	},
	Parameters: append([]scenario.Parameter{
		{Name: "namespaces", Default: 5, Min: 1, Max: 2000, Help: "namespaces that the ListenerSets are spread over"},
		{Name: "sets", Default: 4, Min: 1, Max: 1000, Help: "ListenerSets of each namespace, each with a domain and a certificate"},
		{Name: "routes", Default: 8, Min: 1, Max: 1000, Help: "routes of each ListenerSet"},
	}, common()...),
	Check: check,
	Writes: func(v scenario.Values) []scenario.Write {
		n, sets := total(v)+lateRoutes, v.Int("namespaces")*v.Int("sets")+1
		return slices.Concat([]scenario.Write{{Verb: "create", Kind: "Service and EndpointSlice", Count: v.Int("namespaces")}, {Verb: "create", Kind: "ListenerSet and Secret", Count: sets}, {Verb: "create", Kind: "HTTPRoute", Count: n}}, writes(v),
			[]scenario.Write{{Verb: "delete", Kind: "HTTPRoute", Count: n}, {Verb: "delete", Kind: "ListenerSet and Secret", Count: sets}, {Verb: "delete", Kind: "Namespace", Count: 1 + v.Int("namespaces")}})
	},
	Estimate: estimate,
	Run: func(ctx context.Context, t *scenario.Trial) error {
		return (&scaling{Trial: t, perSet: t.Values.Int("routes")}).run(ctx)
	},
}
