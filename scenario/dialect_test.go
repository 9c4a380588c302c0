package scenario_test

import (
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

func TestARouteInTheGatewayAPI(t *testing.T) {
	trial := scenariotest.Trial(t, simplest, nil)
	plain := dialect.Route{Name: "r", Listener: "http", Host: "a.test", Service: "s", Port: 80}
	objects, err := trial.RenderRoute(plain)
	if err != nil {
		t.Fatal(err)
	}
	route := scenariotest.Typed[gatewayv1.HTTPRoute](t, objects, "HTTPRoute")
	parent, rule := route.Spec.ParentRefs[0], route.Spec.Rules[0]
	if route.Namespace != trial.Namespace || !kube.Owned(objects[0]) || string(route.Spec.Hostnames[0]) != "a.test" ||
		parent.Name != scenario.GatewayName || *parent.SectionName != "http" || len(rule.Filters) != 0 || rule.BackendRefs[0].Name != "s" || *rule.BackendRefs[0].Port != 80 {
		t.Errorf("%+v", route.Spec)
	}
	full := plain
	full.RequestHeader, full.CORS = [][2]string{{"A", "1"}}, "https://b.test"
	full.ResponseHeader, full.Rewrite = [][2]string{{"C", "2"}}, "/d"
	if objects, err = trial.RenderRoute(full); err != nil {
		t.Fatal(err)
	}
	var kinds []gatewayv1.HTTPRouteFilterType
	for _, f := range scenariotest.Typed[gatewayv1.HTTPRoute](t, objects, "HTTPRoute").Spec.Rules[0].Filters {
		kinds = append(kinds, f.Type)
	}
	want := []gatewayv1.HTTPRouteFilterType{
		gatewayv1.HTTPRouteFilterRequestHeaderModifier, gatewayv1.HTTPRouteFilterCORS, gatewayv1.HTTPRouteFilterResponseHeaderModifier, gatewayv1.HTTPRouteFilterURLRewrite,
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("filters %v, want %v", kinds, want)
	}
}

func TestARouteInAnotherDialect(t *testing.T) {
	trial := scenariotest.Trial(t, simplest, nil)
	trial.Target.Dialect = &dialect.Dialect{Name: "Ingress", Class: "c", Template: "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: {{.Name}}, namespace: {{.Namespace}}}\nspec: {ingressClassName: {{.Class}}}\n"}
	objects, err := trial.RenderRoute(dialect.Route{Name: "r", Host: "a.test", Service: "s", Port: 80})
	if err != nil || len(objects) != 1 || objects[0].GetKind() != "Ingress" || objects[0].GetNamespace() != trial.Namespace || !kube.Owned(objects[0]) {
		t.Fatalf("%v, %v", objects, err)
	}
	if _, err := trial.RenderRoute(dialect.Route{Name: "r", Rewrite: "/x"}); err == nil || !strings.Contains(err.Error(), "Ingress has no filter [rewrite]") {
		t.Errorf("a filter that it lacks: %v", err)
	}
	if outcome, reason := scenario.Outcome(trial.Target.Speaks(simplest)); outcome != result.Unsupported || !strings.Contains(reason, "by Ingress") {
		t.Errorf("%s: %s", outcome, reason)
	}
	any := *simplest
	if any.AnyDialect = true; trial.Target.Speaks(&any) != nil {
		t.Error("what speaks any dialect is refused")
	}
}
