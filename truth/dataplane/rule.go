package dataplane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

// A rule is what happens to a request that matched.
type rule struct {
	route    string
	life     *life // once it is in force
	filters  filters
	backends *balance
	// request bounds everything, backendRequest each attempt; 0 is no bound.
	request, backendRequest time.Duration
	retry                   retry
}

// A retry is what is tried again.
type retry struct {
	attempts int // beyond the first
	codes    []int
	backoff  time.Duration
}

func (r *retry) again(status int) bool { return slices.Contains(r.codes, status) }

// What the Gateway API leaves to implementations.
const (
	retryAttempts = 1
	retryBackoff  = 25 * time.Millisecond
)

func compileRule(from *config.Rule, backends map[string]*backend) (*rule, error) {
	r := &rule{route: from.Route}
	var err error
	if r.filters, err = compileFilters(from.Filters, from.Matches); err != nil {
		return nil, err
	}
	r.backends = &balance{}
	for _, w := range from.Backends {
		f, err := compileFilters(w.Filters, from.Matches)
		if err != nil {
			return nil, err
		}
		r.backends.add(backends[w.Backend], int64(w.Weight), f)
	}
	if t := from.Timeouts; t != nil {
		if r.request, err = duration(t.Request, 0); err != nil {
			return nil, err
		}
		if r.backendRequest, err = duration(t.BackendRequest, 0); err != nil {
			return nil, err
		}
	}
	if from.Retry != nil {
		r.retry.attempts = ptr.Deref(from.Retry.Attempts, retryAttempts)
		if r.retry.backoff, err = duration(from.Retry.Backoff, retryBackoff); err != nil {
			return nil, err
		}
		for _, code := range from.Retry.Codes {
			r.retry.codes = append(r.retry.codes, int(code))
		}
	}
	return r, nil
}

func duration(from *gatewayv1.Duration, otherwise time.Duration) (time.Duration, error) {
	if from == nil {
		return otherwise, nil
	}
	d, err := time.ParseDuration(string(*from))
	if err != nil {
		return 0, fmt.Errorf("duration: %w", err)
	}
	return d, nil
}

// prefixesOf lists the path prefixes of matches, which replacing a prefix is
// about.
func prefixesOf(matches []gatewayv1.HTTPRouteMatch) []string {
	if len(matches) == 0 {
		return []string{""}
	}
	var all []string
	for _, m := range matches {
		if m.Path == nil {
			all = append(all, "")
		} else if ptr.Deref(m.Path.Type, gatewayv1.PathMatchPathPrefix) == gatewayv1.PathMatchPathPrefix {
			all = append(all, strings.TrimSuffix(ptr.Deref(m.Path.Value, "/"), "/"))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}
