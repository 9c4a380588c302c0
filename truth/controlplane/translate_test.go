package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"
	"sigs.k8s.io/yaml"

	"github.com/gatemark/gatemark/kube"
)

// base is what the tests' objects refer to.
const base = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: truth}
spec: {controllerName: gatemark.dev/truth}
---
apiVersion: v1
kind: Namespace
metadata: {name: a, labels: {team: a}}
---
apiVersion: v1
kind: Namespace
metadata: {name: b, labels: {team: b}}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: a}
spec: {ports: [{name: http, port: 80}, {name: h2, port: 81, appProtocol: kubernetes.io/h2c}, {name: tls, port: 82, appProtocol: https}]}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: b}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s-1, namespace: a, labels: {kubernetes.io/service-name: s}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
- {addresses: [10.0.0.2]}
- {addresses: [10.0.0.1], conditions: {ready: true}}
- {addresses: [10.0.0.3], conditions: {ready: false, serving: true}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: a, generation: 3}
spec:
  gatewayClassName: truth
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: host, port: 8080, protocol: HTTP, hostname: "*.host.test", allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: b}}}}}
`

// world translates the base and some more.
func worldOf(t *testing.T, more ...string) *world {
	t.Helper()
	return translate(objectsOf(t, append([]string{base}, more...)...), newPairs())
}

func objectsOf(t *testing.T, texts ...string) *Objects {
	t.Helper()
	o := &Objects{}
	o.Definitions.Items = append(o.Definitions.Items, apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: classDefinition, Annotations: map[string]string{consts.BundleVersionAnnotation: consts.BundleVersion}}})
	objects, err := kube.Decode(strings.NewReader(strings.Join(texts, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	born := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, u := range objects {
		u.SetUID(types.UID(fmt.Sprint(i)))
		u.SetCreationTimestamp(metav1.NewTime(born.Add(time.Duration(i) * time.Second)))
		take(t, o, u)
	}
	return o
}

func take(t *testing.T, o *Objects, u *unstructured.Unstructured) {
	t.Helper()
	switch u.GetKind() {
	case "GatewayClass":
		o.Classes.Items = append(o.Classes.Items, typed[gatewayv1.GatewayClass](t, u))
	case "Gateway":
		o.Gateways.Items = append(o.Gateways.Items, typed[gatewayv1.Gateway](t, u))
	case "ListenerSet":
		o.Sets.Items = append(o.Sets.Items, typed[gatewayv1.ListenerSet](t, u))
	case "HTTPRoute":
		o.Routes.Items = append(o.Routes.Items, typed[gatewayv1.HTTPRoute](t, u))
	case "ReferenceGrant":
		o.Grants.Items = append(o.Grants.Items, typed[gatewayv1.ReferenceGrant](t, u))
	case "Service":
		o.Services.Items = append(o.Services.Items, typed[corev1.Service](t, u))
	case "EndpointSlice":
		o.Slices.Items = append(o.Slices.Items, typed[discoveryv1.EndpointSlice](t, u))
	case "Secret":
		o.Secrets.Items = append(o.Secrets.Items, typed[corev1.Secret](t, u))
	case "Namespace":
		o.Namespaces.Items = append(o.Namespaces.Items, typed[corev1.Namespace](t, u))
	default:
		t.Fatalf("unexpected %s", u.GetKind())
	}
}

func typed[T any](t *testing.T, u *unstructured.Unstructured) T {
	t.Helper()
	var object T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// said puts what the world says into an empty status of an object.
func said[T any, P interface {
	*T
	client.Object
}](t *testing.T, w *world, name string) P {
	t.Helper()
	for _, s := range w.conclude() {
		object, ok := s.object.(P)
		if !ok || object.GetName() != name {
			continue
		}
		copied := object.DeepCopyObject().(P)
		s.into(copied)
		return copied
	}
	t.Fatalf("nothing is said of %T %s", P(nil), name)
	return nil
}

// reasons are "Type=reason" of true conditions and "Type!reason" of others.
func reasons(conditions []metav1.Condition) string {
	var all []string
	for _, c := range conditions {
		sign := "!"
		if c.Status == metav1.ConditionTrue {
			sign = "="
		}
		all = append(all, c.Type+sign+c.Reason)
	}
	return strings.Join(all, " ")
}

func httpRouteText(name, spec string) string {
	return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: " + name + ", namespace: a, generation: 7}\nspec: " + spec
}

func grant(kind, to string) string {
	return `apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: grant, namespace: b}
spec: {from: [{group: gateway.networking.k8s.io, kind: ` + kind + `, namespace: a}], to: [{group: "", kind: ` + to + `}]}`
}

func TestRoutes(t *testing.T) {
	const ok = "Accepted=Accepted ResolvedRefs=ResolvedRefs"
	for _, c := range []struct {
		name, spec string
		more       string
		want       string // conditions
		backend    string // of the first rule on listener http; "-" for no rule
	}{
		{name: "plain", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 80}]}]}`, want: ok, backend: "a/s:80"},
		{name: "by section", spec: `{parentRefs: [{name: g, sectionName: http}], rules: [{backendRefs: [{name: s, port: 80}]}]}`, want: ok, backend: "a/s:80"},
		{name: "by port", spec: `{parentRefs: [{name: g, port: 80}], rules: [{backendRefs: [{name: s, port: 80}]}]}`, want: ok, backend: "a/s:80"},
		{name: "no such section", spec: `{parentRefs: [{name: g, sectionName: none}]}`, want: "Accepted!NoMatchingParent ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "no such port", spec: `{parentRefs: [{name: g, port: 81}]}`, want: "Accepted!NoMatchingParent ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "not allowed", spec: `{parentRefs: [{name: g, sectionName: host}], hostnames: [x.host.test]}`,
			want: "Accepted!NotAllowedByListeners ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "no such service", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: none, port: 80}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!BackendNotFound"},
		{name: "no such port of the service", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 1}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!BackendNotFound"},
		{name: "another kind", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, kind: Other, port: 80}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!InvalidKind"},
		{name: "a protocol", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 82}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!UnsupportedProtocol"},
		{name: "not granted", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!RefNotPermitted"},
		{name: "granted", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			more: grant("HTTPRoute", "Service"), want: ok, backend: "b/s:80"},
		{name: "granted to another kind", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			more: grant("Gateway", "Service"), want: "Accepted=Accepted ResolvedRefs!RefNotPermitted"},
		{name: "granted for something else", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			more: grant("HTTPRoute", "Secret"), want: "Accepted=Accepted ResolvedRefs!RefNotPermitted"},
		{name: "unsupported filter", spec: `{parentRefs: [{name: g}], rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s, port: 80}}}]}]}`,
			want: "Accepted!UnsupportedValue ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "partly unsupported", spec: `{parentRefs: [{name: g}], rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s, port: 80}}}]}, {backendRefs: [{name: s, port: 80}]}]}`,
			want: ok + " PartiallyInvalid=UnsupportedValue", backend: "a/s:80"},
		{name: "incompatible filters", spec: `{parentRefs: [{name: g}], rules: [{filters: [{type: RequestRedirect, requestRedirect: {}}, {type: URLRewrite, urlRewrite: {}}]}]}`,
			want: "Accepted!IncompatibleFilters ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "bad expression", spec: `{parentRefs: [{name: g}], rules: [{matches: [{path: {type: RegularExpression, value: "/("}}]}]}`,
			want: "Accepted!UnsupportedValue ResolvedRefs=ResolvedRefs", backend: "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			more := []string{httpRouteText("r", c.spec)}
			if c.more != "" {
				more = append(more, c.more)
			}
			w := worldOf(t, more...)
			parents := said[gatewayv1.HTTPRoute](t, w, "r").Status.Parents
			if len(parents) != 1 || parents[0].ControllerName != Name || reasons(parents[0].Conditions) != c.want {
				t.Fatalf("got %+v, want %s", parents, c.want)
			}
			for _, condition := range parents[0].Conditions {
				if condition.ObservedGeneration != 7 {
					t.Errorf("%s is of generation %d", condition.Type, condition.ObservedGeneration)
				}
			}
			http := w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].listeners[0]
			if c.backend == "-" {
				if len(http.rules) != 0 || http.attached != 0 {
					t.Errorf("%d routes are attached with %d rules", http.attached, len(http.rules))
				}
				return
			}
			if http.attached != 1 || len(http.rules) != 1 || http.rules[0].Backends[0].Backend != c.backend {
				t.Errorf("%d routes are attached: %+v", http.attached, http.rules)
			}
		})
	}
}

func TestEndpointsAreThoseThatAreReady(t *testing.T) {
	w := worldOf(t, httpRouteText("r", `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 80}, {name: s, port: 81}]}]}`))
	s := w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].snapshot()
	if got := fmt.Sprint(s.Backends["a/s:80"]); got != "{false [10.0.0.1:8080 10.0.0.2:8080]}" {
		t.Errorf("port 80: %s", got)
	}
	if got := fmt.Sprint(s.Backends["a/s:81"]); got != "{true []}" {
		t.Errorf("port 81: %s", got)
	}
}

func TestHostsOfARouteAndItsListener(t *testing.T) {
	w := worldOf(t, strings.Replace(httpRouteText("r", `{parentRefs: [{name: g, namespace: a}], hostnames: [x.host.test, other.test]}`), "namespace: a, g", "namespace: b, g", 1),
		strings.Replace(httpRouteText("q", `{parentRefs: [{name: g, namespace: a, sectionName: host}], hostnames: [other.test]}`), "namespace: a, g", "namespace: b, g", 1))
	host := w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].listeners[1]
	if host.attached != 1 {
		t.Errorf("%d routes are attached", host.attached)
	}
	if got := reasons(said[gatewayv1.HTTPRoute](t, w, "q").Status.Parents[0].Conditions); !strings.Contains(got, "Accepted!NoMatchingListenerHostname") {
		t.Errorf("got %s", got)
	}
}

// secret is one with a certificate.
func secret(t *testing.T, namespace string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"a.test"}}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	object := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "cert", Namespace: namespace}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		},
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func gatewayWith(listeners string) string {
	return "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: own, namespace: a, generation: 2}\nspec: {gatewayClassName: truth, listeners: [" + listeners + "]}"
}

func TestListeners(t *testing.T) {
	const good = "Accepted=Accepted Programmed=Programmed ResolvedRefs=ResolvedRefs Conflicted!NoConflicts"
	const https = `{name: l, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}`
	const elsewhere = `{name: l, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert, namespace: b}]}}`
	for _, c := range []struct {
		name, listeners string
		more            []string
		want, gateway   string
		kinds           int
	}{
		{name: "http", listeners: `{name: l, port: 80, protocol: HTTP}`, want: good, gateway: "Accepted=Accepted Programmed=Programmed", kinds: 1},
		{name: "https", listeners: https, more: []string{secret(t, "a")}, want: good, gateway: "Accepted=Accepted Programmed=Programmed", kinds: 1},
		{name: "no secret", listeners: https, gateway: "Accepted=ListenersNotValid Programmed=Programmed", kinds: 1,
			want: "Accepted=Accepted Programmed!Invalid ResolvedRefs!InvalidCertificateRef Conflicted!NoConflicts"},
		{name: "a secret that is not granted", listeners: elsewhere, more: []string{secret(t, "b")}, gateway: "Accepted=ListenersNotValid Programmed=Programmed", kinds: 1,
			want: "Accepted=Accepted Programmed!Invalid ResolvedRefs!RefNotPermitted Conflicted!NoConflicts"},
		{name: "a secret that is granted", listeners: elsewhere, more: []string{secret(t, "b"), grant("Gateway", "Secret")}, want: good,
			gateway: "Accepted=Accepted Programmed=Programmed", kinds: 1},
		{name: "protocol", listeners: `{name: l, port: 80, protocol: TCP}`, gateway: "Accepted!ListenersNotValid Programmed!Invalid",
			want: "Accepted!UnsupportedProtocol Programmed!Invalid ResolvedRefs=ResolvedRefs Conflicted!NoConflicts"},
		{name: "port", listeners: `{name: l, port: 65000, protocol: HTTP}`, gateway: "Accepted!ListenersNotValid Programmed!Invalid", kinds: 1,
			want: "Accepted!PortUnavailable Programmed!Invalid ResolvedRefs=ResolvedRefs Conflicted!NoConflicts"},
		{name: "kinds", listeners: `{name: l, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}, {kind: TCPRoute}]}}`, kinds: 1,
			gateway: "Accepted=Accepted Programmed=Programmed", want: "Accepted=Accepted Programmed=Programmed ResolvedRefs!InvalidRouteKinds Conflicted!NoConflicts"},
		{name: "protocols on a port", listeners: `{name: l, port: 80, protocol: HTTP}, {name: m, port: 80, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}, {name: other, port: 81, protocol: HTTP}`,
			gateway: "Accepted=ListenersNotValid Programmed=Programmed", kinds: 1,
			want: "Accepted!ProtocolConflict Programmed!ProtocolConflict ResolvedRefs=ResolvedRefs Conflicted=ProtocolConflict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := worldOf(t, append(c.more, gatewayWith(c.listeners))...)
			for _, g := range w.gateways {
				g.placed = Placed{Addresses: []string{"10.0.0.9"}, Ready: true}
			}
			status := said[gatewayv1.Gateway](t, w, "own").Status
			if got := reasons(status.Conditions); got != c.gateway {
				t.Errorf("gateway: %s, want %s", got, c.gateway)
			}
			l := status.Listeners[0]
			if got := reasons(l.Conditions); got != c.want || len(l.SupportedKinds) != c.kinds {
				t.Errorf("listener: %s with %d kinds, want %s with %d", got, len(l.SupportedKinds), c.want, c.kinds)
			}
			if len(status.Addresses) != 1 || status.Addresses[0].Value != "10.0.0.9" || *status.Addresses[0].Type != gatewayv1.IPAddressType {
				t.Errorf("addresses %+v", status.Addresses)
			}
		})
	}
}

func TestAGatewayIsProgrammedWhenItsDataPlaneIs(t *testing.T) {
	for _, c := range []struct {
		placed Placed
		want   string
	}{
		{Placed{}, "Programmed!AddressNotAssigned"},
		{Placed{Addresses: []string{"10.0.0.9"}}, "Programmed!Pending"},
		{Placed{Addresses: []string{"10.0.0.9"}, Ready: true}, "Programmed=Programmed"},
	} {
		w := worldOf(t)
		w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].placed = c.placed
		if got := reasons(said[gatewayv1.Gateway](t, w, "g").Status.Conditions); !strings.HasSuffix(got, c.want) {
			t.Errorf("%+v: %s, want %s", c.placed, got, c.want)
		}
	}
}

func set(name, namespace, listeners string) string {
	return "apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: " + name + ", namespace: " + namespace + "}\n" +
		"spec: {parentRef: {name: g, namespace: a}, listeners: [" + listeners + "]}"
}

func TestListenerSets(t *testing.T) {
	w := worldOf(t,
		set("first", "b", `{name: one, port: 90, protocol: HTTP}, {name: two, port: 80, protocol: HTTP}, {name: three, port: 80, protocol: TCP}`),
		set("second", "a", `{name: one, port: 90, protocol: HTTP}`),
		httpRouteText("r", `{parentRefs: [{kind: ListenerSet, name: second}, {name: g, sectionName: one}]}`),
	)
	g := w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}]
	g.placed = Placed{Addresses: []string{"x"}, Ready: true}
	first, second := said[gatewayv1.ListenerSet](t, w, "first").Status, said[gatewayv1.ListenerSet](t, w, "second").Status
	if got, want := reasons(first.Conditions), "Accepted=ListenersNotValid Programmed=Programmed"; got != want {
		t.Errorf("first: %s, want %s", got, want)
	}
	if got := reasons(first.Listeners[1].Conditions); !strings.Contains(got, "Conflicted=HostnameConflict") {
		t.Errorf("a listener that the Gateway has: %s", got)
	}
	if got := reasons(first.Listeners[2].Conditions); !strings.Contains(got, "Conflicted=ProtocolConflict") {
		t.Errorf("a listener of another protocol: %s", got)
	}
	if got, want := reasons(second.Conditions), "Accepted!ListenersNotValid Programmed!ListenersNotValid"; got != want {
		t.Errorf("second: %s, want %s", got, want)
	}
	if n := *said[gatewayv1.Gateway](t, w, "g").Status.AttachedListenerSets; n != 1 {
		t.Errorf("%d sets are attached", n)
	}
	var names []string
	for _, l := range g.snapshot().Listeners {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, " "); got != "http host b/first/one" {
		t.Errorf("served are %s", got)
	}
	parents := said[gatewayv1.HTTPRoute](t, w, "r").Status.Parents
	if got := reasons(parents[0].Conditions); !strings.HasPrefix(got, "Accepted=Accepted") || second.Listeners[0].AttachedRoutes != 1 {
		t.Errorf("at the set: %s, %d routes", got, second.Listeners[0].AttachedRoutes)
	}
	if got := reasons(parents[1].Conditions); !strings.HasPrefix(got, "Accepted!NoMatchingParent") {
		t.Errorf("at the Gateway, which has no listener of that name itself: %s", got)
	}
}

func TestASetWithoutItsCertificate(t *testing.T) {
	w := worldOf(t, set("s", "b", `{name: one, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert, namespace: a}]}}`), secret(t, "a"))
	status := said[gatewayv1.ListenerSet](t, w, "s").Status
	if got, want := reasons(status.Conditions), "Accepted!ListenersNotValid Programmed!ListenersNotValid"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := reasons(status.Listeners[0].Conditions); !strings.Contains(got, "ResolvedRefs!RefNotPermitted") {
		t.Errorf("its listener: %s", got)
	}
}

func TestASetThatIsNotAllowed(t *testing.T) {
	w := worldOf(t, strings.Replace(set("s", "b", `{name: one, port: 90, protocol: HTTP}`), "name: g,", "name: own,", 1),
		gatewayWith(`{name: l, port: 80, protocol: HTTP}`))
	if got, want := reasons(said[gatewayv1.ListenerSet](t, w, "s").Status.Conditions), "Accepted!NotAllowed Programmed!NotAllowed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestClasses(t *testing.T) {
	w := worldOf(t)
	class := said[gatewayv1.GatewayClass](t, w, "truth").Status
	if got, want := reasons(class.Conditions), "Accepted=Accepted SupportedVersion=SupportedVersion"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(class.SupportedFeatures) != len(Features) {
		t.Errorf("%d features", len(class.SupportedFeatures))
	}
	o := objectsOf(t, base)
	o.Definitions.Items[0].Annotations = nil
	o.Classes.Items[0].Spec.ControllerName = Name
	class = said[gatewayv1.GatewayClass](t, translate(o, newPairs()), "truth").Status
	if got := reasons(class.Conditions); !strings.Contains(got, "SupportedVersion!UnsupportedVersion") {
		t.Errorf("got %s", got)
	}
	o.Classes.Items[0].Spec.ControllerName = "someone.else/controller"
	if w := translate(o, newPairs()); len(w.gateways) != 0 || len(w.conclude()) != 0 {
		t.Errorf("of another controller's class: %d gateways, %d statuses", len(w.gateways), len(w.conclude()))
	}
}

// TestOthersEntriesStay: and ours go with their parentRefs.
func TestOthersEntriesStay(t *testing.T) {
	w := worldOf(t, httpRouteText("r", `{parentRefs: [{name: g}]}`))
	entry := func(controller, name string) gatewayv1.RouteParentStatus {
		return gatewayv1.RouteParentStatus{ControllerName: gatewayv1.GatewayController(controller), ParentRef: gatewayv1.ParentReference{Name: gatewayv1.ObjectName(name)}}
	}
	for _, s := range w.statuses {
		object, ok := s.object.(*gatewayv1.HTTPRoute)
		if !ok {
			continue
		}
		object = object.DeepCopy()
		object.Status.Parents = []gatewayv1.RouteParentStatus{entry(string(Name), "old"), entry("other", "x"), entry(string(Name), "g"), entry("other", "g")}
		s.into(object)
		var got []string
		for _, p := range object.Status.Parents {
			got = append(got, fmt.Sprintf("%s:%s", p.ControllerName, p.ParentRef.Name))
		}
		if text := strings.Join(got, " "); text != "other:x gatemark.dev/truth:g other:g" {
			t.Errorf("got %s", text)
		}
		before := object.DeepCopy()
		s.into(object)
		if fmt.Sprint(before.Status) != fmt.Sprint(object.Status) {
			t.Errorf("said again: %+v, before %+v", object.Status, before.Status)
		}
	}
}

func TestMerge(t *testing.T) {
	old := metav1.NewTime(time.Unix(1, 0))
	has := []metav1.Condition{{Type: "Other", Status: "True"}, {Type: "Accepted", Status: "True", Reason: "old", LastTransitionTime: old}, {Type: "Gone", Status: "True"}}
	got := merge(has, []metav1.Condition{verdict{ok: true, reason: "new"}.condition("Accepted", 4)}, "Gone")
	c := meta.FindStatusCondition(got, "Accepted")
	if len(got) != 2 || got[0].Type != "Other" || c.Reason != "new" || c.ObservedGeneration != 4 || c.LastTransitionTime != old {
		t.Errorf("got %+v", got)
	}
	if has[1].Reason != "old" || len(has) != 3 {
		t.Errorf("what it had was changed: %+v", has)
	}
}

func TestLongNames(t *testing.T) {
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("long.", 50)}}
	h := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("long.", 50) + "er"}}
	name, labels := DataPlane(g)
	other, _ := DataPlane(h)
	if len(name) > 63 || len(labels[gatewayv1.GatewayNameLabelKey]) > 63 || strings.Contains(name, ".") || name == other {
		t.Errorf("%s, %v, %s", name, labels, other)
	}
}
