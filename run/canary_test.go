package run

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/scenario"
)

// A proxy is one replica of a trial's Gateway, which serves the canary when it
// is alive.
type proxy struct {
	asked atomic.Int32
	alive func(asked int) bool
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host != "canary.apps.test" || r.URL.Path != "/gatemark-canary" || !p.alive(int(p.asked.Add(1))) {
		http.Error(w, "no route", http.StatusNotFound)
		return
	}
	w.Header().Set("Location", "http://alive.gatemark.test/gatemark-canary")
	w.WriteHeader(http.StatusFound)
}

// open puts a Gateway with one replica into a trial's namespace.
func (l *lab) open(t *testing.T, namespace string, replica http.Handler) {
	server := httptest.NewServer(replica)
	t.Cleanup(server.Close)
	where, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddrPort(where.Host)
	gw := &gatewayv1.Gateway{TypeMeta: metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway"}, ObjectMeta: in(namespace, scenario.GatewayName)}
	gw.Spec.Listeners = []gatewayv1.Listener{{Name: "tls", Protocol: gatewayv1.HTTPSProtocolType, Port: 443},
		{Name: "apps", Protocol: gatewayv1.HTTPProtocolType, Port: 80, Hostname: ptr.To(gatewayv1.Hostname("*.apps.test"))}}
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: in(namespace, "proxy")}
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	slice := &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, ObjectMeta: in(namespace, "proxy")}
	slice.Labels[discoveryv1.LabelServiceName] = "proxy"
	slice.Ports = []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(address.Port()))}}
	slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{address.Addr().String()}}}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: in(namespace, "proxy-1")}
	control := pod.DeepCopy()
	control.Namespace, control.Name, control.Labels = "system", "control-1", map[string]string{"app": "control"}
	for _, o := range []runtime.Object{gw, service, slice, pod, control} {
		l.server.Put(t, o)
	}
}

func in(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"gateway": scenario.GatewayName}}
}

// TestCanary: a Gateway that answers is no news, and of one that does not, the
// finding says what brought it back.
func TestCanary(t *testing.T) {
	gone := func(l *lab, pod string) bool {
		return !slices.ContainsFunc(l.server.Names(), func(name string) bool { return strings.HasSuffix(name, pod) })
	}
	for name, c := range map[string]struct {
		alive func(l *lab, asked int) bool
		want  string // the end of the finding's text
	}{
		"alive": {func(*lab, int) bool { return true }, ""},
		// In its patience the canary asks twice at most.
		"slow":                        {func(_ *lab, asked int) bool { return asked > 2 }, "waiting brought it back, after "},
		"after a control-plane start": {func(l *lab, _ int) bool { return gone(l, "/control-1") }, "a restart of its control plane brought it back, after "},
		"after a data-plane start":    {func(l *lab, _ int) bool { return gone(l, "/proxy-1") }, "a restart of its data plane brought it back, after "},
		"never":                       {func(*lab, int) bool { return false }, "nothing that was tried brought it back: waiting, a restart of its control plane, a restart of its data plane"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "b01-s")
			l.Config.Installed = map[string]park.Installation{"i": {Name: "i"}}
			l.canary = canary{patience: time.Millisecond, each: 200 * time.Millisecond}
			if name == "slow" {
				l.canary.each = time.Minute
			}
			replica := &proxy{alive: func(asked int) bool { return c.alive(l, asked) }}
			l.act = func(_ context.Context, trial *scenario.Trial) error {
				l.open(t, trial.Namespace, replica)
				return nil
			}
			if err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			trial, err := l.Dir.ReadTrial("b01-s")
			if err != nil || trial.Outcome != result.OK {
				t.Fatalf("%+v, %v", trial, err)
			}
			if replica.asked.Load() == 0 {
				t.Error("nobody asked the Gateway")
			}
			if c.want == "" {
				if len(trial.Findings) != 0 {
					t.Errorf("findings %+v", trial.Findings)
				}
				return
			}
			if len(trial.Findings) != 1 || trial.Findings[0].ID != "s/stopped-answering" || trial.Findings[0].Severity != result.Broken ||
				!strings.Contains(trial.Findings[0].Text, c.want) {
				t.Fatalf("findings %+v", trial.Findings)
			}
			evidence := trial.Findings[0].Evidence
			if !strings.Contains(evidence[0].Text, "within 1ms of the trial's end: replica") || len(evidence) < 3 ||
				!strings.HasPrefix(evidence[1].File, "evidence/stopped-answering/") {
				t.Errorf("evidence %+v", evidence)
			}
		})
	}
}

// TestNoRestartOfWhatTheRunDidNotInstall, whatever state it is in.
func TestNoRestartOfWhatTheRunDidNotInstall(t *testing.T) {
	l := startLab(t, "b01-s")
	l.canary = canary{patience: time.Millisecond, each: time.Millisecond}
	l.act = func(_ context.Context, trial *scenario.Trial) error {
		l.open(t, trial.Namespace, &proxy{alive: func(int) bool { return false }})
		return nil
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	trial, err := l.Dir.ReadTrial("b01-s")
	if err != nil || len(trial.Findings) != 1 || !strings.Contains(trial.Findings[0].Evidence[0].Text, "could not be tried: it was not installed by this run") {
		t.Errorf("%+v, %v", trial, err)
	}
	if !slices.Contains(l.server.Names(), "pods system/control-1") {
		t.Error("a pod was ended")
	}
}
