package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func routeText(kind, name, spec string) string {
	return "apiVersion: gateway.networking.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: a, generation: 7}\nspec: " + spec
}

const passing = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: tls, namespace: a}
spec:
  gatewayClassName: truth
  listeners:
  - {name: tls, port: 443, protocol: TLS, hostname: "*.test", tls: {mode: Passthrough}}
`

func listenerOf(w *world, gateway string) *listener {
	return w.gateways[client.ObjectKey{Namespace: "a", Name: gateway}].listeners[0]
}

func TestGRPCRoutes(t *testing.T) {
	const ok = "Accepted=Accepted ResolvedRefs=ResolvedRefs"
	for _, c := range []struct {
		name, spec, want string
		more             string
		backend          string // of the rule; "" for no rule
		path             string // of the match
	}{
		{name: "all calls", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 80}]}]}`, want: ok, backend: "a/s:80/grpc"},
		{name: "a method", spec: `{parentRefs: [{name: g}], rules: [{matches: [{method: {service: p.S, method: M}}], backendRefs: [{name: s, port: 81}]}]}`,
			want: ok, backend: "a/s:81/grpc", path: "Exact /p.S/M"},
		{name: "a service", spec: `{parentRefs: [{name: g}], rules: [{matches: [{method: {service: p.S}}], backendRefs: [{name: s, port: 80}]}]}`,
			want: ok, backend: "a/s:80/grpc", path: "PathPrefix /p.S"},
		{name: "a method of any service", spec: `{parentRefs: [{name: g}], rules: [{matches: [{method: {method: M}}], backendRefs: [{name: s, port: 80}]}]}`,
			want: ok, backend: "a/s:80/grpc", path: "Suffix /M"},
		{name: "expressions", spec: `{parentRefs: [{name: g}], rules: [{matches: [{method: {type: RegularExpression, service: "a|b"}}], backendRefs: [{name: s, port: 80}]}]}`,
			want: ok, backend: "a/s:80/grpc", path: "RegularExpression /(?:a|b)/(?:[^/]+)"},
		{name: "a protocol", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 82}]}]}`, want: "Accepted=Accepted ResolvedRefs!UnsupportedProtocol"},
		{name: "not granted", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			more: grant("HTTPRoute", "Service"), want: "Accepted=Accepted ResolvedRefs!RefNotPermitted"},
		{name: "granted", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			more: grant("GRPCRoute", "Service"), want: ok, backend: "b/s:80/grpc"},
		{name: "unsupported filter", spec: `{parentRefs: [{name: g}], rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s, port: 80}}}]}]}`,
			want: "Accepted!UnsupportedValue ResolvedRefs=ResolvedRefs"},
		{name: "the host of an older HTTPRoute", spec: `{parentRefs: [{name: g}], hostnames: [x.y.test], rules: [{backendRefs: [{name: s, port: 80}]}]}`,
			more: httpRouteText("older", `{parentRefs: [{name: g, sectionName: http}], hostnames: ["*.y.test"]}`), want: "Accepted!NotAllowedByListeners ResolvedRefs=ResolvedRefs"},
		{name: "a host beside that of an HTTPRoute", spec: `{parentRefs: [{name: g}], hostnames: [x.z.test], rules: [{backendRefs: [{name: s, port: 80}]}]}`,
			more: httpRouteText("older", `{parentRefs: [{name: g, sectionName: http}], hostnames: ["*.y.test"]}`), want: ok, backend: "a/s:80/grpc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			texts := []string{routeText("GRPCRoute", "r", c.spec)}
			if c.more != "" {
				texts = append([]string{c.more}, texts...)
			}
			w := worldOf(t, texts...)
			parents := said[gatewayv1.GRPCRoute](t, w, "r").Status.Parents
			if len(parents) != 1 || reasons(parents[0].Conditions) != c.want {
				t.Fatalf("got %+v, want %s", parents, c.want)
			}
			rules := w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].snapshot().Listeners[0].Rules
			if c.backend == "" {
				return
			}
			rule := rules[len(rules)-1]
			if rule.Route != "GRPCRoute/a/r" || rule.Backends[0].Backend != c.backend {
				t.Errorf("%+v", rule)
			}
			if !w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].backends[c.backend].H2C {
				t.Error("its backend is not spoken to in HTTP/2")
			}
			path := ""
			if len(rule.Matches) > 0 {
				path = string(*rule.Matches[0].Path.Type) + " " + *rule.Matches[0].Path.Value
			}
			if path != c.path {
				t.Errorf("it matches %q, want %q", path, c.path)
			}
		})
	}
}

func TestGRPCRoutesKeepTheirHeadersAndFilters(t *testing.T) {
	w := worldOf(t, routeText("GRPCRoute", "r", `{parentRefs: [{name: g, sectionName: http}], rules: [{
		matches: [{headers: [{name: X-A, value: "1"}]}], filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-B, value: "2"}]}}],
		backendRefs: [{name: s, port: 80, weight: 3}]}]}`))
	l := listenerOf(w, "g")
	if l.attached != 1 {
		t.Fatalf("%d routes are attached", l.attached)
	}
	rule := l.rules[0]
	if len(rule.Matches[0].Headers) != 1 || string(rule.Matches[0].Headers[0].Name) != "X-A" || rule.Backends[0].Weight != 3 {
		t.Errorf("%+v", rule)
	}
	if diff := cmp.Diff("2", rule.Filters[0].RequestHeaderModifier.Set[0].Value); diff != "" {
		t.Error(diff)
	}
}

func TestTLSRoutes(t *testing.T) {
	for _, c := range []struct {
		name, spec, want string
		attached         int32
	}{
		{name: "a host", spec: `{parentRefs: [{name: tls}], hostnames: [a.test], rules: [{backendRefs: [{name: s, port: 82}]}]}`,
			want: "Accepted=Accepted ResolvedRefs=ResolvedRefs", attached: 1},
		{name: "another host", spec: `{parentRefs: [{name: tls}], hostnames: [a.other], rules: [{backendRefs: [{name: s, port: 82}]}]}`,
			want: "Accepted!NoMatchingListenerHostname ResolvedRefs=ResolvedRefs"},
		{name: "a listener for HTTP", spec: `{parentRefs: [{name: g, sectionName: http}], hostnames: [a.test], rules: [{backendRefs: [{name: s, port: 82}]}]}`,
			want: "Accepted!NotAllowedByListeners ResolvedRefs=ResolvedRefs"},
		{name: "no such service", spec: `{parentRefs: [{name: tls}], hostnames: [a.test], rules: [{backendRefs: [{name: none, port: 82}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!BackendNotFound", attached: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := worldOf(t, passing, routeText("TLSRoute", "r", c.spec))
			parents := said[gatewayv1.TLSRoute](t, w, "r").Status.Parents
			if len(parents) != 1 || reasons(parents[0].Conditions) != c.want {
				t.Fatalf("got %+v, want %s", parents, c.want)
			}
			l := listenerOf(w, "tls")
			if l.attached != c.attached || !l.config().Passthrough || l.config().TLS {
				t.Errorf("%d routes are attached: %+v", l.attached, l.config())
			}
		})
	}
}

func TestAnHTTPRouteIsNotOfAListenerForTLS(t *testing.T) {
	w := worldOf(t, passing, httpRouteText("r", `{parentRefs: [{name: tls}], rules: [{backendRefs: [{name: s, port: 80}]}]}`))
	parents := said[gatewayv1.HTTPRoute](t, w, "r").Status.Parents
	if got, want := reasons(parents[0].Conditions), "Accepted!NotAllowedByListeners ResolvedRefs=ResolvedRefs"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
