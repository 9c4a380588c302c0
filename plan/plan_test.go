package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/google/go-cmp/cmp"
)

var catalogue = Catalogue{
	Implementations: []Implementation{{Name: "envoy-gateway", Variants: []string{"gateway-namespace"}, Several: true}, {Name: "contour"}, {Name: "inner", Unlisted: true}},
	Scenarios: []Scenario{
		{Name: "route-propagation", Parameters: []Parameter{
			{Name: "routes", Default: 100, Min: 1, Max: 40000},
			{Name: "settle", Default: 250 * time.Millisecond, Min: float64(time.Millisecond), Max: float64(time.Minute)},
			{Name: "share", Default: 0.5, Min: 0.1, Max: 1},
			{Name: "connections", Default: "both", OneOf: []string{"both", "kept", "new"}},
			{Name: "marker", Default: true},
		}, Check: func(v map[string]any) []error {
			if v["routes"].(int) == 13 && !v["marker"].(bool) {
				return []error{errors.New("routes 13 needs marker")}
			}
			return nil
		}},
		{Name: "attached-routes", Parameters: []Parameter{{Name: "routes", Default: 1000, Min: 1, Max: 40000}}},
	},
}

const header = "apiVersion: gatemark.dev/v1\nkind: Plan\n"
const implementations = "implementations: [{name: envoy-gateway}]\n"
const scenarios = "scenarios: [{name: attached-routes}]\n"

func TestBadPlans(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		want       []string
	}{
		{"nothing at all", "", []string{"the plan is empty"}},
		{"not YAML", "a: [", []string{"yaml: line 1: did not find expected node content"}},
		{"a list", "- a", []string{"cannot unmarshal array into Go value of type plan.Plan"}},
		{"an unknown field", header + implementations + scenarios + "repeat: 3\n", []string{`unknown field "repeat"`}},
		{"a key twice", header + implementations + scenarios + "kind: Plan\n", []string{`yaml: unmarshal errors:`, `  line 5: key "kind" already set in map`}},
		{"a text for a number", header + implementations + scenarios + "repeats: many\n", []string{"cannot unmarshal string into Go struct field Plan.repeats of type int"}},
		{"no header", implementations + scenarios, []string{`apiVersion: "" is not gatemark.dev/v1`, `kind: "" is not Plan`}},
		{"a header of another time", "apiVersion: gatemark.dev/v9\nkind: Plan\n" + implementations + scenarios, []string{`apiVersion: "gatemark.dev/v9" is not gatemark.dev/v1`}},
		{"no work", header, []string{
			"implementations: none is named; there are contour, envoy-gateway",
			"scenarios: none is named; there are attached-routes, route-propagation"}},
		{"too many repeats", header + implementations + scenarios + "repeats: 101\n", []string{"repeats: 101 is not between 1 and 100"}},
		{"negative repeats", header + implementations + scenarios + "repeats: -1\n", []string{"repeats: -1 is not between 1 and 100"}},
		{"unknown isolation", header + implementations + scenarios + "isolation: alone\n", []string{`isolation: "alone" is not one of parked, coresident, joined`}},
		{"a typing error in a name", header + "implementations: [{name: envoygateway}]\n" + scenarios, []string{`implementations[0].name: no implementation is called "envoygateway"; did you mean envoy-gateway?`}},
		{"an unknown implementation", header + "implementations: [{name: apache}]\n" + scenarios, []string{`implementations[0].name: no implementation is called "apache"; there are contour, envoy-gateway`}},
		{"an unknown variant", header + "implementations: [{name: envoy-gateway, variant: x}]\n" + scenarios, []string{`implementations[0].variant: no variant of envoy-gateway is called "x"; there are gateway-namespace`}},
		{"a variant where there is none", header + "implementations: [{name: contour, variant: x}]\n" + scenarios, []string{`implementations[0].variant: there is no variant of contour, so not "x" either`}},
		{"one implementation twice", header + "implementations: [{name: contour}, {name: contour}]\n" + scenarios, []string{"implementations[1]: contour stands at implementations[0] already; copy: 2 measures the same one twice"}},
		{"two versions where one has room", header + "implementations: [{name: contour}, {name: contour, version: v1.2.3}]\n" + scenarios, []string{"implementations[1]: contour stands at implementations[0] already, and a cluster has room for one contour: its data has no beside"}},
		{"versions that are none", header + "implementations: [{name: envoy-gateway, version: latest}, {name: contour, version: v1.2.3, checkout: x}]\n" + scenarios, []string{
			`implementations[0].version: "latest" is neither a version such as v1.2.3 nor a commit`,
			"implementations[1]: version v1.2.3 and checkout x exclude each other: a checkout is what it is"}},
		{"nothing to measure, and a class that is to be changed", header + "implementations: [{address: a}, {gatewayClass: c, version: v1.2.3}, {gatewayClass: d}, {gatewayClass: d}]\n" + scenarios, []string{
			"implementations[0]: needs a name, or a gatewayClass that the cluster has",
			"implementations[1].gatewayClass: what serves c is measured as it is: a version, checkout, variant or values cannot be asked for",
			"implementations[3]: class/d stands at implementations[2] already; copy: 2 measures the same one twice"}},
		{"near one that is in no list", header + "implementations: [{name: inne}]\n" + scenarios, []string{`implementations[0].name: no implementation is called "inne"; there are contour, envoy-gateway`}},
		{"values of a copy", header + "implementations: [{name: contour, values: {a: 1}}, {name: contour, copy: 2, values: {a: 2}}]\n" + scenarios, []string{"implementations[1].values: a copy is what contour installs; its values stand there"}},
		{"a copy of nothing", header + "implementations: [{name: contour, copy: 2}, {name: contour}]\n" + scenarios, []string{"implementations[0].copy: there is no contour before it, which it could be a copy of"}},
		{"a copy of another variant", header + "implementations: [{name: envoy-gateway}, {name: envoy-gateway, variant: gateway-namespace, copy: 2}]\n" + scenarios, []string{"implementations[1].copy: there is no envoy-gateway/gateway-namespace before it, which it could be a copy of"}},
		{"a first copy, and one twice", header + "implementations: [{name: contour}, {name: contour, copy: 1}, {name: contour, copy: 2}, {name: contour, copy: 2}]\n" + scenarios, []string{
			"implementations[1].copy: 1 is not between 2 and 9", "implementations[3]: contour#2 stands at implementations[2] already"}},
		{"an unknown scenario", header + implementations + "scenarios: [{name: attached-route}]\n", []string{`scenarios[0].name: no scenario is called "attached-route"; did you mean attached-routes?`}},
		{"one scenario twice", header + implementations + "scenarios: [{name: attached-routes}, {name: attached-routes}]\n", []string{"scenarios[1]: attached-routes stands at scenarios[0] already; give one of them a variant name"}},
		{"a bad variant name", header + implementations + "scenarios: [{name: attached-routes, variant: Big One}]\n", []string{`scenarios[0].variant: "Big One" is not a name of lower-case letters, digits and dashes`}},
		{"an unknown parameter", header + implementations + "scenarios: [{name: attached-routes, parameters: {route: 3}}]\n", []string{`scenarios[0].parameters: no parameter of attached-routes is called "route"; did you mean routes?`}},
		{"every kind of bad value", header + implementations + `scenarios: [{name: route-propagation, parameters: {routes: 1.5, settle: 3, share: much, connections: none, marker: maybe}}]` + "\n", []string{
			"scenarios[0].parameters.routes: 1.5 is not a whole number, such as 100",
			`scenarios[0].parameters.settle: 3 is not a duration, such as "250ms"`,
			`scenarios[0].parameters.share: "much" is not a number, such as 0.5`,
			`scenarios[0].parameters.connections: "none" is not one of both, kept, new`,
			`scenarios[0].parameters.marker: "maybe" is neither true nor false`}},
		{"values out of bounds", header + implementations + `scenarios: [{name: route-propagation, parameters: {routes: 0, settle: 2h, share: 7}}]` + "\n", []string{
			"scenarios[0].parameters.routes: 0 is not between 1 and 40000",
			"scenarios[0].parameters.settle: 2h0m0s is not between 1ms and 1m0s",
			"scenarios[0].parameters.share: 7 is not between 0.1 and 1"}},
		{"values that do not fit together", header + implementations + `scenarios: [{name: route-propagation, parameters: {routes: 13, marker: false}}]` + "\n", []string{
			"scenarios[0].parameters: routes 13 needs marker"}},
		{"everything at once", "kind: Plan\nimplementations: [{name: nginx}]\nscenarios: [{name: x-y-z}]\nrepeats: 1000\nisolation: '1'\n", []string{
			`apiVersion: "" is not gatemark.dev/v1`,
			"repeats: 1000 is not between 1 and 100",
			`isolation: "1" is not one of parked, coresident, joined`,
			`implementations[0].name: no implementation is called "nginx"; there are contour, envoy-gateway`,
			`scenarios[0].name: no scenario is called "x-y-z"; there are attached-routes, route-propagation`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Decode([]byte(c.yaml))
			if err == nil {
				_, err = p.Resolve(catalogue)
			}
			if err == nil {
				t.Fatal("the plan was accepted")
			}
			if got := failure.CodeOf(err); got != failure.Usage {
				t.Errorf("exit code %d, want %d", got, failure.Usage)
			}
			if diff := cmp.Diff(c.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveFillsInEveryDefault(t *testing.T) {
	p, err := Decode([]byte(header + implementations + "scenarios: [{name: route-propagation, parameters: {routes: '7', settle: 1s}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Resolve(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"routes": 7, "settle": "1s", "share": 0.5, "connections": "both", "marker": true}
	if diff := cmp.Diff(want, got.Scenarios[0].Parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if got.Repeats != 1 || got.Isolation != "parked" {
		t.Errorf("repeats %d, isolation %q", got.Repeats, got.Isolation)
	}
	if p.Repeats != 0 || len(p.Scenarios[0].Parameters) != 2 {
		t.Error("Resolve changed the plan that it was given")
	}
}

func TestEveryProfileDecodes(t *testing.T) {
	for _, name := range Profiles() {
		if _, err := Profile(name); err != nil {
			t.Errorf("profile %s: %v", name, err)
		}
	}
	if _, err := Profile("none"); failure.CodeOf(err) != failure.Usage || len(failure.Hints(err)) != 1 {
		t.Errorf("an unknown profile: %v", err)
	}
}

// TestTreatmentsAreReadAsTheyAreWritten, with copies: on the command line and
// in results.
func TestTreatmentsAreReadAsTheyAreWritten(t *testing.T) {
	folder := func(s string) bool { return strings.HasPrefix(s, ".") }
	for text, want := range map[string]Treatment{
		"contour":           {Name: "contour"},
		"contour/v":         {Name: "contour", Variant: "v"},
		"contour#2":         {Name: "contour", Copy: 2},
		"contour/v#12":      {Name: "contour", Variant: "v", Copy: 12},
		"contour#two":       {Name: "contour#two"},
		"contour#":          {Name: "contour#"},
		"contour@v1.2.3":    {Name: "contour", Version: "v1.2.3"},
		"contour@v1.2.3/v":  {Name: "contour", Version: "v1.2.3", Variant: "v"},
		"contour@0abc123#2": {Name: "contour", Version: "0abc123", Copy: 2},
		"contour=here":      {Name: "contour", Checkout: "here"},
		"contour/v=here#3":  {Name: "contour", Variant: "v", Checkout: "here", Copy: 3},
		"class/eg":          {GatewayClass: "eg"},
		"class/eg#2":        {GatewayClass: "eg", Copy: 2},
		"./mine":            {Name: "./mine"},
		"../x/y@z=w#2":      {Name: "../x/y@z=w", Copy: 2},
	} {
		got := ParseTreatment(text, folder)
		if !cmp.Equal(got, want) || got.String() != text {
			t.Errorf("%s is read as %+v and written as %s", text, got, got)
		}
	}
	if got := ParseTreatment("contour=../../work/contour", folder); got.Checkout != "../../work/contour" || got.String() != "contour=contour" {
		t.Errorf("a checkout is read as %+v and written as %s", got, got)
	}
}

func TestWhatIsInNoListCanBeNamed(t *testing.T) {
	p, err := Decode([]byte(header + "implementations: [{name: inner, values: {faults: {errorEvery: 7}}}]\n" + scenarios))
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Resolve(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	want := []Treatment{{Name: "inner", Values: map[string]any{"faults": map[string]any{"errorEvery": 7.0}}}}
	if diff := cmp.Diff(want, got.Implementations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
