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
		o.HTTPRoutes.Items = append(o.HTTPRoutes.Items, typed[gatewayv1.HTTPRoute](t, u))
	case "GRPCRoute":
		o.GRPCRoutes.Items = append(o.GRPCRoutes.Items, typed[gatewayv1.GRPCRoute](t, u))
	case "TLSRoute":
		o.TLSRoutes.Items = append(o.TLSRoutes.Items, typed[gatewayv1.TLSRoute](t, u))
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

func set(name, namespace, listeners string) string {
	return "apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: " + name + ", namespace: " + namespace + "}\n" +
		"spec: {parentRef: {name: g, namespace: a}, listeners: [" + listeners + "]}"
}
