package routechange

import (
	"context"

	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatemark/gatemark/scenario/stream"
)

// needSecond makes a second backend.
func needSecond(ctx context.Context, c *changing) error {
	return c.backend(ctx, "second", c.Namespace, 1)
}

// backendKinds change where a route's requests go. The marker stays as it is
// where the pod that answers shows which backend was chosen.
func backendKinds() []*kindOfChange {
	marked := func(name string, backends ...changedBackend) changedRoute {
		return changedRoute{Name: name, Hosts: []string{changeHost(name)}, Rules: []changedRule{{Marker: marks(name, 1), Backends: backends}}}
	}
	by := func(name string, backends ...string) stream.Answer {
		return stream.Answer{Route: name, Generation: 1, Backends: backends}
	}
	only := func(name string, before, after stream.Answer) []stream.Stream {
		return []stream.Stream{{Name: "the changed route", Host: changeHost(name), Path: "/", Before: before, After: after}}
	}
	weighted := func(first, second int) []changedBackend {
		return []changedBackend{{Name: "echo", Weight: first}, {Name: "second", Weight: second}}
	}
	// Both ports lead to the same pods, so that the marker changes in the same
	// write to show which version is in force.
	port := func(generation int64, number int) changedRoute {
		return changedRoute{Name: "backend-port", Hosts: []string{changeHost("backend-port")}, Rules: []changedRule{{
			Marker: marks("backend-port", generation), Backends: []changedBackend{{Name: "ports", Port: number, Weight: 1}},
		}}}
	}
	return []*kindOfChange{
		routeKind(kindOfChange{name: "backend-port", title: "a route was sent to another port of its Service",
			streams: only("backend-port", stream.Answer{Route: "backend-port", Generation: 1}, stream.Answer{Route: "backend-port", Generation: 2}),
		}, port(1, 0), port(2, otherPort), func(ctx context.Context, c *changing) error {
			return c.put(ctx, "service", map[string]any{"Name": "ports", "App": "echo", "Namespace": c.Namespace})
		}),
		routeKind(kindOfChange{name: "service", title: "a route was sent to another Service",
			streams: only("service", by("service", "echo"), by("service", "second")),
		}, marked("service", sendTo("echo")...), marked("service", sendTo("second")...), needSecond),
		routeKind(kindOfChange{name: "weight", title: "all weight was moved from one backend to another",
			streams: only("weight", by("weight", "echo"), by("weight", "second")),
		}, marked("weight", weighted(1, 0)...), marked("weight", weighted(0, 1)...), needSecond),
		routeKind(kindOfChange{name: "weight-split", title: "half of the weight was given to a second backend",
			streams: only("weight-split", by("weight-split", "echo"), by("weight-split", "echo", "second")),
		}, marked("weight-split", weighted(1, 0)...), marked("weight-split", weighted(1, 1)...), needSecond),
	}
}

// ruleKinds change what a route does with a request. A change that no answer
// shows comes with another marker in the same write.
func ruleKinds() []*kindOfChange {
	hidden := func(name, title, feature string, after func(r *changedRule)) *kindOfChange {
		route := func(generation int64) changedRoute {
			return changedRoute{Name: name, Hosts: []string{changeHost(name)}, Rules: []changedRule{{Marker: marks(name, generation), Backends: sendTo("echo")}}}
		}
		changed := route(2)
		after(&changed.Rules[0])
		return routeKind(kindOfChange{name: name, title: title, feature: feature, streams: []stream.Stream{{
			Name: "the changed route", Host: changeHost(name), Path: "/",
			Before: stream.Answer{Route: name, Generation: 1}, After: stream.Answer{Route: name, Generation: 2},
		}}}, route(1), changed, nil)
	}
	retry := hidden("retry", "retries were switched on and off", string(features.SupportHTTPRouteRetry), func(r *changedRule) { r.Retries = 2 })
	retry.experimental = true
	return []*kindOfChange{
		headerKind(), matchKind(), hostKind(),
		hidden("rewrite", "a path rewrite was added and removed", string(features.SupportHTTPRoutePathRewrite), func(r *changedRule) { r.Rewrite = "/rewritten" }),
		hidden("timeout", "a timeout was added and removed", string(features.SupportHTTPRouteRequestTimeout), func(r *changedRule) { r.Timeout = "5s" }),
		retry,
	}
}

// headerKind adds the filter that marks requests, and removes it.
func headerKind() *kindOfChange {
	route := func(filter [][2]string) changedRoute {
		return changedRoute{Name: "header", Hosts: []string{changeHost("header")}, Rules: []changedRule{{Marker: filter, Backends: sendTo("echo")}}}
	}
	return routeKind(kindOfChange{name: "header", title: "a header filter was added and removed", streams: []stream.Stream{{
		Name: "the changed route", Host: changeHost("header"), Path: "/",
		Before: stream.Answer{Unmarked: true, Backends: []string{"echo"}}, After: stream.Answer{Route: "header", Generation: 2},
	}}}, route(nil), route(marks("header", 2)), nil)
}

// matchKind moves a path from one rule to another, while the rest of the route
// stays as it is.
func matchKind() *kindOfChange {
	route := func(path string) changedRoute {
		return changedRoute{Name: "match", Hosts: []string{changeHost("match")}, Rules: []changedRule{
			{Path: path, Marker: marks("match", 2), Backends: sendTo("echo")},
			{Path: "/", Marker: marks("match", 1), Backends: sendTo("echo")},
		}}
	}
	general, special := stream.Answer{Route: "match", Generation: 1}, stream.Answer{Route: "match", Generation: 2}
	on := func(name, path string, before, after stream.Answer) stream.Stream {
		return stream.Stream{Name: name, Host: changeHost("match"), Path: path, Before: before, After: after}
	}
	return routeKind(kindOfChange{name: "match", title: "the path that a rule matches was changed", streams: []stream.Stream{
		on("the path that was added", "/second", general, special),
		on("the path that was removed", "/first", special, general),
		on("the rest of the changed route", "/", general, general),
	}}, route("/first"), route("/second"), nil)
}

// hostKind adds a host name to a route that has one, and removes it.
func hostKind() *kindOfChange {
	route := func(hosts ...string) changedRoute {
		return changedRoute{Name: "host", Hosts: hosts, Rules: []changedRule{{Marker: marks("host", 1), Backends: sendTo("echo")}}}
	}
	stays, added := changeHost("host"), changeHost("added-host")
	served := stream.Answer{Route: "host", Generation: 1}
	return routeKind(kindOfChange{name: "host", title: "a host name was added to a route and removed", streams: []stream.Stream{
		{Name: "the host name that comes and goes", Host: added, Path: "/", Before: stream.Answer{Status: 404}, After: served},
		{Name: "the host name that stays", Host: stays, Path: "/", Before: served, After: served},
	}}, route(stays), route(stays, added), nil)
}
