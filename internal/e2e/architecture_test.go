package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/result"
)

// tablesByHand are what the architecture's table should say, by the
// documentation of each implementation, and not by any run.
var tablesByHand = map[string]map[string]string{
	// gateway.envoyproxy.io/docs: the quick start has users create the
	// GatewayClass; "Deployment Mode" and "Gateway Namespace Mode": a fleet of
	// proxies for each Gateway, in the controller's namespace by default.
	"envoy-gateway": {
		"Data plane and control plane split":              "yes",
		"Gateway instances split":                         "yes",
		"Data plane in Gateway namespace":                 "no",
		"GatewayClass pre-created":                        "no",
		"Spec-compliant architecture":                     "no: namespace boundaries broken",
		"Second Gateway":                                  "served",
		"Same host and port in two namespaces kept apart": "yes",
		"Arbitrary listener port":                         "served",
	},
	// projectcontour.io/docs, "Gateway API Support", dynamic provisioning: users
	// create the GatewayClass; each Gateway gets a Contour and an Envoy in its
	// own namespace; since 1.25 listeners may have any ports.
	"contour": {
		"Data plane and control plane split":              "yes",
		"Gateway instances split":                         "yes",
		"Data plane in Gateway namespace":                 "yes",
		"GatewayClass pre-created":                        "no",
		"Spec-compliant architecture":                     "yes",
		"Second Gateway":                                  "served",
		"Same host and port in two namespaces kept apart": "yes",
		"Arbitrary listener port":                         "served",
	},
	// istio.io/docs, "Kubernetes Gateway API", automated deployment: istiod makes
	// a Deployment and a Service for each Gateway, beside it, and the class.
	"istio": {
		"Data plane and control plane split":              "yes",
		"Gateway instances split":                         "yes",
		"Data plane in Gateway namespace":                 "yes",
		"GatewayClass pre-created":                        "yes",
		"Spec-compliant architecture":                     "yes",
		"Second Gateway":                                  "served",
		"Same host and port in two namespaces kept apart": "yes",
		"Arbitrary listener port":                         "served",
	},
	// doc.traefik.io, providers, "Kubernetes Gateway API": one Traefik serves all
	// Gateways, on its entry points only. Routers are told apart by their rules,
	// not by their Gateways, on one entry point.
	"traefik": {
		"Data plane and control plane split":              "no",
		"Gateway instances split":                         "no",
		"Data plane in Gateway namespace":                 "no",
		"GatewayClass pre-created":                        "no",
		"Spec-compliant architecture":                     "no: Gateways are not kept apart",
		"Second Gateway":                                  "served by the same proxy",
		"Same host and port in two namespaces kept apart": "no",
		"Arbitrary listener port":                         "refused",
	},
}

// architectureAgrees holds each valid trial of architecture against the table
// made by hand.
func architectureAgrees(t *testing.T, d result.Document) {
	t.Helper()
	for _, trial := range d.Trials {
		if trial.Scenario != "architecture" || trial.Outcome != result.OK {
			continue
		}
		want, ok := tablesByHand[trial.Implementation]
		if !ok {
			t.Fatalf("there is no table of %s", trial.Implementation)
		}
		got := map[string]string{}
		for _, table := range trial.Tables {
			if table.Name == "architecture" {
				for _, row := range table.Rows {
					got[row[0]] = row[1]
				}
			}
		}
		for row, answer := range want {
			if got[row] != answer {
				t.Errorf("%s: %s: %q, by hand %q", trial.Implementation, row, got[row], answer)
			}
		}
	}
}

// TestImplementations measures those that GATEMARK_IMPLEMENTATIONS names, with
// commas between them, in one run: they take minutes to build.
func TestImplementations(t *testing.T) {
	named := os.Getenv("GATEMARK_IMPLEMENTATIONS")
	if named == "" {
		t.Skip("builds implementations from source: set GATEMARK_IMPLEMENTATIONS")
	}
	b := newBench(t)
	dir := t.TempDir()
	code, out := b.do(append(b.small(dir), "--implementation", named)...)
	if code != 0 && code != 4 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	d := document(t, dir)
	covered(t, d)
	var measured []string
	for _, trial := range d.Trials {
		switch trial.Outcome {
		case result.OK:
			headlines(t, d.Run, trial)
			measured = append(measured, trial.Implementation+" "+trial.Scenario)
		case result.Invalid: // a busy machine
		default:
			t.Errorf("trial %s is %s: %s", trial.ID, trial.Outcome, trial.Reason)
		}
	}
	for name := range strings.SplitSeq(named, ",") {
		if !slices.Contains(measured, name+" architecture") {
			t.Errorf("no valid trial of architecture on %s", name)
		}
	}
	architectureAgrees(t, d)
	nothingLeft(t, b)
}
