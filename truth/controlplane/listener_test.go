package controlplane

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

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
		{name: "http", listeners: `{name: l, port: 80, protocol: HTTP}`, want: good, gateway: "Accepted=Accepted Programmed=Programmed", kinds: 2},
		{name: "https", listeners: https, more: []string{secret(t, "a")}, want: good, gateway: "Accepted=Accepted Programmed=Programmed", kinds: 2},
		{name: "no secret", listeners: https, gateway: "Accepted=ListenersNotValid Programmed=Programmed", kinds: 2,
			want: "Accepted=Accepted Programmed!Invalid ResolvedRefs!InvalidCertificateRef Conflicted!NoConflicts"},
		{name: "a secret that is not granted", listeners: elsewhere, more: []string{secret(t, "b")}, gateway: "Accepted=ListenersNotValid Programmed=Programmed", kinds: 2,
			want: "Accepted=Accepted Programmed!Invalid ResolvedRefs!RefNotPermitted Conflicted!NoConflicts"},
		{name: "a secret that is granted", listeners: elsewhere, more: []string{secret(t, "b"), grant("Gateway", "Secret")}, want: good,
			gateway: "Accepted=Accepted Programmed=Programmed", kinds: 2},
		{name: "protocol", listeners: `{name: l, port: 80, protocol: TCP}`, gateway: "Accepted!ListenersNotValid Programmed!Invalid",
			want: "Accepted!UnsupportedProtocol Programmed!Invalid ResolvedRefs=ResolvedRefs Conflicted!NoConflicts"},
		{name: "tls", listeners: `{name: l, port: 443, protocol: TLS, tls: {mode: Passthrough}}`, want: good, gateway: "Accepted=Accepted Programmed=Programmed", kinds: 1},
		{name: "tls that is to end here", listeners: `{name: l, port: 443, protocol: TLS, tls: {certificateRefs: [{name: cert}]}}`,
			gateway: "Accepted!ListenersNotValid Programmed!Invalid", want: "Accepted!UnsupportedValue Programmed!Invalid ResolvedRefs=ResolvedRefs Conflicted!NoConflicts"},
		{name: "port", listeners: `{name: l, port: 65000, protocol: HTTP}`, gateway: "Accepted!ListenersNotValid Programmed!Invalid", kinds: 2,
			want: "Accepted!PortUnavailable Programmed!Invalid ResolvedRefs=ResolvedRefs Conflicted!NoConflicts"},
		{name: "kinds", listeners: `{name: l, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}, {kind: TCPRoute}]}}`, kinds: 1,
			gateway: "Accepted=Accepted Programmed=Programmed", want: "Accepted=Accepted Programmed=Programmed ResolvedRefs!InvalidRouteKinds Conflicted!NoConflicts"},
		{name: "protocols on a port", listeners: `{name: l, port: 80, protocol: HTTP}, {name: m, port: 80, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}, {name: other, port: 81, protocol: HTTP}`,
			gateway: "Accepted=ListenersNotValid Programmed=Programmed", kinds: 2,
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
