package backendfailover

import (
	"fmt"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/gatemark/gatemark/scenario"
)

// A kind is a way to fail: of the backend itself, by its admin port, or of its
// endpoint.
type kind struct {
	name string
	// title ends a sentence that begins with "while one of the backends".
	title string
	// fault is one of the backend's rules, as JSON; counts is what the backend
	// counts of it, or empty where it cannot.
	fault, counts string
	// endpoint is what becomes of its endpoint; nil removes it.
	endpoint *discoveryv1.EndpointConditions
	// leaves: the backend is well, and its endpoint says that it is to get no
	// requests.
	leaves bool
}

// slowBy is what a slow backend takes, as a share of the requests' timeout.
const slowBy = 0.8

// kinds lists all, in the order in which they take place.
func kinds(timeout time.Duration) []*kind {
	slow := time.Duration(slowBy * float64(timeout)).Round(time.Millisecond)
	return []*kind{
		{name: "503", title: "answered 503", fault: `{"status":{"code":503}}`, counts: "status"},
		{name: "refuse", title: "refused connections", fault: `{"refuse":{"open":"reset"}}`},
		{name: "reset", title: "reset connections in place of an answer", fault: `{"reset":{}}`, counts: "reset"},
		{name: "hang", title: "never answered", fault: `{"hang":{}}`, counts: "hang"},
		{name: "slow", title: fmt.Sprintf("took %s for each answer", slow), fault: fmt.Sprintf(`{"delay":{"fixed":%q}}`, slow), counts: "delay"},
		{name: "removed", title: "was taken out of its Service's endpoints", leaves: true, endpoint: &discoveryv1.EndpointConditions{}},
		{name: "terminating", title: "was an endpoint that terminates and still serves", leaves: true, endpoint: &discoveryv1.EndpointConditions{
			Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true),
		}},
	}
}

func names() []string {
	var all []string
	for _, k := range kinds(time.Second) {
		all = append(all, k.name)
	}
	return all
}

// chosen are the kinds that the parameters name.
func chosen(v scenario.Values) []*kind {
	wanted := v.List("kinds", names())
	return slices.DeleteFunc(kinds(v.Duration("timeout")), func(k *kind) bool { return !slices.Contains(wanted, k.name) })
}

// endpoints are those of the Service while the backend of a pod fails.
func (k *kind) endpoints(all []discoveryv1.Endpoint, pod string) []discoveryv1.Endpoint {
	var with []discoveryv1.Endpoint
	for _, e := range all {
		if k.leaves && e.TargetRef.Name == pod {
			if k.endpoint.Serving == nil {
				continue
			}
			e.Conditions = *k.endpoint
		}
		with = append(with, e)
	}
	return with
}
