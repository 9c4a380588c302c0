package scrape

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
)

func running(name, ip string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "control"}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip},
	}
}

// TestScraper: every pod of the selector that runs is scraped, and one that
// fails is told of.
func TestScraper(t *testing.T) {
	api := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true})
	c, err := kube.New(t.Context(), api.Config())
	if err != nil {
		t.Fatal(err)
	}
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || !strings.HasPrefix(r.Host, "10.0.0.1:") {
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer exporter.Close()
	api.Put(t, running("good", "10.0.0.1"))
	api.Put(t, running("bad", "10.0.0.2"))
	pending := running("pending", "")
	pending.Status.Phase = corev1.PodPending
	api.Put(t, pending)
	other := running("other", "10.0.0.3")
	other.Labels = nil
	api.Put(t, other)

	s, err := Start(t.Context(), Options{
		Kube: c, Interval: time.Hour, Targets: []Target{{Role: "control-plane", Namespace: "system", Selector: "app=control", Port: 19001, Path: "/metrics"}},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if !strings.HasSuffix(address, ":19001") {
				t.Errorf("asked at %s", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, exporter.Listener.Addr().String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Now(t.Context())
	scrapes := s.Stop()
	if len(scrapes) != 2 {
		t.Fatalf("%d scrapes: %+v", len(scrapes), scrapes)
	}
	for _, one := range scrapes {
		switch one.Pod {
		case "system/good":
			if one.Err != nil || one.Bytes != len(answer) || one.GC != 42 || one.Fetch <= 0 || one.Round != 1 {
				t.Errorf("%+v", one)
			}
		case "system/bad":
			if one.Err == nil || !strings.Contains(one.Err.Error(), "418") || !strings.Contains(one.Err.Error(), "system/bad, port 19001") {
				t.Errorf("error %v", one.Err)
			}
		default:
			t.Errorf("%s was scraped", one.Pod)
		}
	}
}

func TestScraperNeedsAnInterval(t *testing.T) {
	if _, err := Start(t.Context(), Options{}); err == nil {
		t.Error("it was started without one")
	}
}
