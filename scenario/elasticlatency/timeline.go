package elasticlatency

import (
	"slices"
	"time"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/scenario"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// An event is one thing that happens at an instant of the timeline.
type event struct {
	// kind is its name in metrics, findings and pictures, title ends a sentence
	// that begins with "when".
	kind, title string
	// at is its instant, since the timeline began, and step the time until the
	// next.
	at, step time.Duration
	// more is how many pods the backend has more than before it all; restart
	// replaces all of them.
	more    int
	restart bool
	// certificate replaces that of the listener. gateway scales the gateway itself,
	// to so many proxies more than before it all.
	certificate, gateway bool
	proxies              int
	// route is what the route is to be, of events that change it.
	route *shape
	// feature is what an implementation must support, and filter what its dialect
	// must have.
	feature string
	filter  dialect.Filter
}

// A shape is what a route has beside its marker.
type shape struct{ CORS, Header, Rewrite bool }

// The groups of events that can be asked for.
const (
	scaling    = "scale"
	cors       = "cors"
	header     = "header"
	rewrite    = "rewrite"
	restarting = "restart"
	rotating   = "certificate"
	proxying   = "gateway"
)

var groups = []string{scaling, cors, header, rewrite, restarting, rotating, proxying}

// The kinds that are not groups.
const (
	scaleUp   = "scale-up"
	scaleDown = "scale-down"
	back      = "back"

	gatewayUp   = "gateway-up"
	gatewayDown = "gateway-down"
)

// timeline is what happens when, by the parameters alone: one event each step,
// the first after a step without any.
func timeline(v scenario.Values) []event {
	chosen := v.List("kinds", groups)
	has := func(group string) bool { return slices.Contains(chosen, group) }
	var all []event
	add := func(e event) {
		e.step = v.Duration("step")
		e.at = time.Duration(len(all)+1) * e.step
		all = append(all, e)
	}
	for range v.Int("rounds") {
		if has(scaling) {
			add(event{kind: scaleUp, title: "the backend got one more pod", more: 1})
			add(event{kind: scaleDown, title: "the backend lost a pod again"})
		}
	}
	now := shape{}
	change := func(group, title string, feature features.FeatureName, filter dialect.Filter, set func(*shape)) {
		if has(group) {
			set(&now)
			next := now
			add(event{kind: group, title: title, route: &next, feature: string(feature), filter: filter})
		}
	}
	change(cors, "the route got a CORS filter", features.SupportHTTPRouteCORS, dialect.CORS, func(s *shape) { s.CORS = true })
	change(header, "the route got a response header", features.SupportHTTPRouteResponseHeaderModification, dialect.ResponseHeader, func(s *shape) { s.Header = true })
	change(rewrite, "the route got a path rewrite", features.SupportHTTPRoutePathRewrite, dialect.Rewrite, func(s *shape) { s.Rewrite = true })
	if now != (shape{}) {
		add(event{kind: back, title: "the route was changed back", route: &shape{}})
	}
	if has(restarting) {
		add(event{kind: restarting, title: "all pods of the backend were replaced, one after the other", restart: true})
	}
	if has(rotating) {
		add(event{kind: rotating, title: "the listener got another certificate", certificate: true})
	}
	if has(proxying) {
		add(event{kind: gatewayUp, title: "the gateway got one more replica", gateway: true, proxies: 1})
		add(event{kind: gatewayDown, title: "the gateway lost a replica again", gateway: true})
	}
	return all
}

// length is how long a timeline is: a step after the last event.
func length(v scenario.Values) time.Duration {
	return time.Duration(len(timeline(v))+1) * v.Duration("step")
}

// between is the time between two timelines, in which the backend and the route
// are as at the beginning again; lead is how long before a timeline its traffic
// begins, so that connections are there.
const between, lead = 10 * time.Second, 2 * time.Second

// without is a shape without what is not supported.
func (s shape) without(skipped map[string]string) shape {
	_, noCORS := skipped[cors]
	_, noHeader := skipped[header]
	_, noRewrite := skipped[rewrite]
	return shape{CORS: s.CORS && !noCORS, Header: s.Header && !noHeader, Rewrite: s.Rewrite && !noRewrite}
}
