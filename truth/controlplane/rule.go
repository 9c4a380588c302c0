package controlplane

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

var (
	ruleFilters = []gatewayv1.HTTPRouteFilterType{
		gatewayv1.HTTPRouteFilterRequestHeaderModifier, gatewayv1.HTTPRouteFilterResponseHeaderModifier,
		gatewayv1.HTTPRouteFilterRequestRedirect, gatewayv1.HTTPRouteFilterURLRewrite, gatewayv1.HTTPRouteFilterCORS,
	}
	backendFilters = []gatewayv1.HTTPRouteFilterType{
		gatewayv1.HTTPRouteFilterRequestHeaderModifier, gatewayv1.HTTPRouteFilterResponseHeaderModifier,
	}
)

// judgeRule tells whether the data plane can do what a rule says.
func judgeRule(rule *gatewayv1.HTTPRouteRule) verdict {
	if v := judgeFilters(rule.Filters, ruleFilters); !v.ok {
		return v
	}
	for i := range rule.BackendRefs {
		if v := judgeFilters(rule.BackendRefs[i].Filters, backendFilters); !v.ok {
			return v
		}
	}
	if rule.SessionPersistence != nil {
		return no(gatewayv1.RouteReasonUnsupportedValue, "session persistence is not supported")
	}
	if err := judgeTimes(rule); err != nil {
		return no(gatewayv1.RouteReasonUnsupportedValue, err.Error())
	}
	for i := range rule.Matches {
		if err := judgeMatch(&rule.Matches[i]); err != nil {
			return no(gatewayv1.RouteReasonUnsupportedValue, err.Error())
		}
	}
	return verdict{ok: true}
}

func judgeFilters(filters []gatewayv1.HTTPRouteFilter, supported []gatewayv1.HTTPRouteFilterType) verdict {
	seen := map[gatewayv1.HTTPRouteFilterType]bool{}
	for i := range filters {
		f := &filters[i]
		if !slices.Contains(supported, f.Type) {
			return no(gatewayv1.RouteReasonUnsupportedValue, fmt.Sprintf("filter %s is not supported", f.Type))
		}
		seen[f.Type] = true
		if f.RequestRedirect == nil {
			continue
		}
		if scheme := ptr.Deref(f.RequestRedirect.Scheme, "http"); scheme != "http" && scheme != "https" {
			return no(gatewayv1.RouteReasonUnsupportedValue, fmt.Sprintf("a redirect to scheme %q is not supported", scheme))
		}
		if code := ptr.Deref(f.RequestRedirect.StatusCode, 302); code < 300 || code > 399 {
			return no(gatewayv1.RouteReasonUnsupportedValue, fmt.Sprintf("a redirect with status %d is not supported", code))
		}
	}
	if seen[gatewayv1.HTTPRouteFilterRequestRedirect] && seen[gatewayv1.HTTPRouteFilterURLRewrite] {
		return no(gatewayv1.RouteReasonIncompatibleFilters, "a redirect leaves nothing to rewrite")
	}
	return verdict{ok: true}
}

func judgeTimes(rule *gatewayv1.HTTPRouteRule) error {
	var times []*gatewayv1.Duration
	if rule.Timeouts != nil {
		times = append(times, rule.Timeouts.Request, rule.Timeouts.BackendRequest)
	}
	if rule.Retry != nil {
		times = append(times, rule.Retry.Backoff)
	}
	for _, t := range times {
		if t == nil {
			continue
		}
		if _, err := time.ParseDuration(string(*t)); err != nil {
			return err
		}
	}
	return nil
}

func judgeMatch(m *gatewayv1.HTTPRouteMatch) error {
	var expressions []string
	if m.Path != nil && ptr.Deref(m.Path.Type, "") == gatewayv1.PathMatchRegularExpression {
		expressions = append(expressions, ptr.Deref(m.Path.Value, ""))
	}
	for _, h := range m.Headers {
		if ptr.Deref(h.Type, "") == gatewayv1.HeaderMatchRegularExpression {
			expressions = append(expressions, h.Value)
		}
	}
	for _, q := range m.QueryParams {
		if ptr.Deref(q.Type, "") == gatewayv1.QueryParamMatchRegularExpression {
			expressions = append(expressions, q.Value)
		}
	}
	for _, e := range expressions {
		if _, err := regexp.Compile(e); err != nil {
			return err
		}
	}
	return nil
}
