package routescale

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatemark/gatemark/scenario"
)

// lateRoutes are tried where a step did not come into force: one that is not
// served may have a reason of its own.
const lateRoutes = 3

// A ceiling is what was tried when a step did not come into force.
type ceiling struct {
	// routes is how many were served right everywhere then, of so many.
	routes, of int
	// served and accepted are how many of the late routes were.
	served, accepted int
	// edited and deleted: a change to a route that was served came into force, and
	// a deletion. Neither was tried where none was served.
	tried, edited, deleted bool
	// unserved is how many routes were not served, and silent how many of these
	// had a status that said that they were accepted.
	silent, unserved int
	// words are what statuses that were not current lacked, by how often.
	words map[string]int
	// gateway is what the Gateway's status said that was not true.
	gateway []string
	// status is that of one route that was not served, as it was.
	status string
	waited time.Duration
}

// is tells whether it is a ceiling, and not some routes that are not served.
func (c *ceiling) is() bool { return c != nil && (c.served == 0 || c.accepted == 0) }

// tryCeiling tries whether anything new still comes into force. Of routes that
// are not served for another reason, others are.
func (s *scaling) tryCeiling(ctx context.Context) error {
	s.Progress("routes are missing: trying others")
	c := &ceiling{waited: s.Values.Duration("limit"), words: map[string]int{}}
	s.ceiling = c
	swept, err := s.sweep(ctx, fmt.Sprintf("when %d did not come into force", s.there()))
	if err != nil {
		return err
	}
	c.routes, c.of = swept.served(), swept.routes
	first := len(s.routes)
	if err := s.create(ctx, lateRoutes, nil); err != nil {
		return fmt.Errorf("create routes beyond: %w", err)
	}
	late := s.routes[first:]
	var edited, deleted *route
	for _, r := range slices.Backward(s.routes[:first]) {
		switch {
		case r.gone || swept.bad[r]:
		case edited == nil:
			edited = r
		case deleted == nil:
			deleted = r
		}
	}
	tried := slices.Clone(late)
	if c.tried = deleted != nil; c.tried {
		if err := s.edit(ctx, edited); err != nil {
			return err
		}
		if err := s.remove(ctx, deleted); err != nil {
			return err
		}
		tried = append(tried, edited, deleted)
	}
	deadline := time.Now().Add(c.waited)
	_, wrong, err := s.served(ctx, tried, deadline)
	if err != nil {
		return err
	}
	_, missing, err := s.accepted(ctx, late, deadline)
	if err != nil {
		return err
	}
	c.accepted, c.served = len(late)-missing, len(late)
	for _, r := range late {
		if wrong[r] != "" {
			c.served--
		}
	}
	c.edited, c.deleted = c.tried && wrong[edited] == "", c.tried && wrong[deleted] == ""
	for r := range swept.bad {
		r.unserved = true
	}
	for _, r := range late {
		r.unserved = wrong[r] != ""
	}
	if c.is() {
		s.Broken("ceiling")
	}
	return s.wording(ctx)
}

// wording asks what the statuses of what is not in force say.
func (s *scaling) wording(ctx context.Context) error {
	c := s.ceiling
	instants := s.status.Instants()
	var example *route
	for _, r := range s.living() {
		_, current := instants[r.name]
		if !current {
			c.words[lackOf(s.status, r)]++
		}
		if r.unserved {
			c.unserved++
			if current {
				c.silent++
			}
		}
		if example == nil && (r.unserved || !current) {
			example = r
		}
	}
	var err error
	if example != nil {
		if c.status, err = s.statusOf(ctx, example); err != nil {
			return err
		}
	}
	var gateway gatewayv1.Gateway
	if err := s.Kube.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: scenario.GatewayName}, &gateway); err != nil {
		return fmt.Errorf("status of the Gateway: %w", err)
	}
	c.gateway = untrue(&gateway)
	return nil
}

func lackOf(status *scenario.RouteStatus, r *route) string {
	if lack := status.Lack(r.name); lack != "" {
		return lack
	}
	return "no status at all"
}

// untrue lists the conditions of a Gateway that are not true.
func untrue(g *gatewayv1.Gateway) []string {
	var all []string
	add := func(of string, conditions []metav1.Condition, good func(metav1.Condition) bool) {
		for _, c := range conditions {
			if !good(c) {
				all = append(all, strings.TrimSpace(fmt.Sprintf("%s%s is %s: %s %s", of, c.Type, c.Status, c.Reason, c.Message)))
			}
		}
	}
	add("", g.Status.Conditions, func(c metav1.Condition) bool { return c.Status == metav1.ConditionTrue })
	for _, l := range g.Status.Listeners {
		add("listener "+string(l.Name)+": ", l.Conditions, func(c metav1.Condition) bool {
			// Conflicted is good when it is false.
			return (c.Status == metav1.ConditionTrue) == (c.Type != string(gatewayv1.ListenerConditionConflicted))
		})
	}
	return all
}

// statusOf is the status of a route as it is.
func (s *scaling) statusOf(ctx context.Context, r *route) (string, error) {
	var http gatewayv1.HTTPRoute
	if err := s.Kube.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, &http); err != nil {
		return "", fmt.Errorf("status of route %s: %w", r.name, err)
	}
	text, err := yaml.Marshal(http.Status)
	return fmt.Sprintf("%s/%s, generation %d\n%s", r.namespace, r.name, http.Generation, text), err
}
