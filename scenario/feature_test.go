package scenario

import (
	"strings"
	"testing"
)

func TestWhatNobodyClaimsIsNoFault(t *testing.T) {
	known := Target{Features: []string{"HTTPRoute", "HTTPRouteRetry"}}
	for _, c := range []struct {
		target  Target
		listed  []string
		feature string
		want    string
	}{
		{known, nil, "", ""},
		{known, nil, "HTTPRouteRetry", ""},
		{known, nil, "ListenerSet", "nobody claims the feature ListenerSet"},
		{known, []string{"HTTPRoute"}, "HTTPRouteRetry", "the GatewayClass does not list the feature HTTPRouteRetry"},
		{known, []string{"ListenerSet"}, "ListenerSet", ""},
		{Target{}, nil, "HTTPRouteRetry", "nobody claims"},
	} {
		got := c.target.Unclaimed(c.listed, c.feature)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s of %v, listed %v: %q, want %q", c.feature, c.target.Features, c.listed, got, c.want)
		}
	}
}
