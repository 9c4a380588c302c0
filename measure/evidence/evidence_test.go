package evidence

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/result"
)

func startFake(t *testing.T) *kube.Client {
	t.Helper()
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"), Name: "events", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("Gateway"), Name: "gateways", Namespaced: true},
	)
	for _, name := range []string{"p1", "p2"} {
		server.Put(t, &corev1.Pod{
			TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name, Labels: map[string]string{"app": "x"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "envoy"}}},
		})
	}
	server.SetLog("infra", "p1", false, strings.Repeat("old line\n", 100)+"last line\n")
	server.Put(t, &gatewayv1.Gateway{
		TypeMeta: metav1.TypeMeta{Kind: "Gateway", APIVersion: gatewayv1.GroupVersion.String()}, ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "gw"},
	})
	server.Put(t, &corev1.Event{
		TypeMeta: metav1.TypeMeta{Kind: "Event", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "e"},
		InvolvedObject: corev1.ObjectReference{Kind: "Gateway", Name: "gw"}, Type: "Warning", Reason: "Bad", Message: "it broke",
		LastTimestamp: metav1.NewTime(time.Unix(0, 0)),
	})
	c, err := kube.New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func request() Request {
	gateway := gatewayv1.SchemeGroupVersion.WithKind("Gateway")
	return Request{
		Name: "errors", At: time.Now(),
		Pods:    []Pods{{"infra", "app=x"}, {"infra", "app=nobody"}},
		Events:  []string{"demo"},
		Newest:  []Newest{{gateway, "demo"}, {gateway, "empty"}},
		Objects: []Object{{gateway, client.ObjectKey{Namespace: "demo", Name: "gw"}}, {gateway, client.ObjectKey{Namespace: "demo", Name: "absent"}}},
		Dumps: map[string]func(context.Context) ([]byte, error){
			"config_dump.json": func(context.Context) ([]byte, error) { return []byte("{}"), nil },
			"broken.json":      func(context.Context) ([]byte, error) { return nil, errors.New("no answer") },
		},
	}
}

func TestTake(t *testing.T) {
	c := startFake(t)
	b := Take(t.Context(), c, request())
	want := []string{
		"evidence/errors/config_dump.json", "evidence/errors/events-demo.txt", "evidence/errors/log-infra-p1-envoy.log",
		"evidence/errors/missing.txt", "evidence/errors/newest-gateway-demo.yaml", "evidence/errors/object-gateway-demo-gw.yaml",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(b.Files))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for file, text := range map[string]string{
		"events-demo.txt":             "1970-01-01T00:00:00Z Warning Bad gateway/gw: it broke",
		"log-infra-p1-envoy.log":      "last line",
		"object-gateway-demo-gw.yaml": "kind: Gateway",
		"newest-gateway-demo.yaml":    "name: gw",
	} {
		if !bytes.Contains(b.Files["evidence/errors/"+file], []byte(text)) {
			t.Errorf("%s is %q", file, b.Files["evidence/errors/"+file])
		}
	}
	missing := strings.Join(b.Missing, "\n")
	for _, text := range []string{"broken.json: no answer", "gateway demo/absent", "pods app=nobody in infra: there are none", "log of pod infra/p2 container envoy"} {
		if !strings.Contains(missing, text) {
			t.Errorf("missing does not say %q:\n%s", text, missing)
		}
	}
	trial := &result.Trial{SchemaVersion: result.SchemaVersion, ID: "t"}
	if err := result.Directory(t.TempDir()).WriteTrial(trial, b.Files); err != nil {
		t.Error(err)
	}
	if e := b.Evidence(); len(e) != 6 || e[0].Name != "config_dump" {
		t.Errorf("evidence %+v", e)
	}
}

func TestTakeIsBounded(t *testing.T) {
	c := startFake(t)
	r := request()
	r.Limit = 400
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		r.Dumps[name] = func(context.Context) ([]byte, error) { return bytes.Repeat([]byte{'x'}, 1000), nil }
	}
	b := Take(t.Context(), c, r)
	size := 0
	for name, data := range b.Files {
		if name == "evidence/errors/missing.txt" {
			continue
		}
		if size += len(data); len(data) > 100 {
			t.Errorf("%s has %d bytes", name, len(data))
		}
	}
	if size > 400 {
		t.Errorf("the bundle has %d bytes", size)
	}
	if log, ok := b.Files["evidence/errors/log-infra-p1-envoy.log"]; ok && !bytes.HasSuffix(log, []byte("last line\n")) {
		t.Errorf("a log lost its end: %q", log)
	}
	if !strings.Contains(strings.Join(b.Missing, "\n"), "cut from 1000 to 100 bytes") || !strings.Contains(strings.Join(b.Missing, "\n"), "dropped") {
		t.Errorf("what was cut is not said: %q", b.Missing)
	}
}
