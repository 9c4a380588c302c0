package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/scenario"
)

// TestWhatEndsWithATrial: proxies that serve all Gateways are not waited for.
func TestWhatEndsWithATrial(t *testing.T) {
	own := scenario.Selector{Namespace: "{{.Namespace}}", Labels: "gateway={{.Name}}"}
	shared := scenario.Selector{Namespace: "proxies", Labels: "app=proxy"}
	for name, c := range map[string]struct {
		plane     scenario.Selector
		others    []scenario.Target
		isolation string
		want      []scenario.Selector
	}{
		"its own":      {plane: own, want: []scenario.Selector{{Namespace: "ns", Labels: "gateway=" + scenario.GatewayName}}},
		"shared":       {plane: shared},
		"parked":       {plane: shared, others: []scenario.Target{{Treatment: "x", DataPlane: own}}, isolation: "parked"},
		"joined":       {plane: shared, others: []scenario.Target{{Treatment: "x", DataPlane: own}}, isolation: joined, want: []scenario.Selector{{Namespace: "ns", Labels: "gateway=" + scenario.RivalGateway("x")}}},
		"joined, both": {plane: shared, others: []scenario.Target{{Treatment: "x", DataPlane: shared}}, isolation: joined},
	} {
		trial := &scenario.Trial{Namespace: "ns", Target: scenario.Target{DataPlane: c.plane}, Others: c.others, Isolation: c.isolation}
		got, err := dataPlanes(trial, trial.Namespace)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
