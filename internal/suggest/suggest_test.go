package suggest

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"attached-routes", "route-propagation", "routes", "envoy-gateway"}
	for name, want := range map[string]string{
		"attached-route":   "attached-routes",
		"route":            "routes",
		"envoygateway":     "envoy-gateway",
		"Envoy-Gateway":    "envoy-gateway",
		"route-prop":       "route-propagation",
		"rutes":            "routes",
		"nginx":            "",
		"":                 "",
		"something-else-x": "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
