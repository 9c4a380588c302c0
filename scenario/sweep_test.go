package scenario_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// right answers every host as its own route does.
func right(w http.ResponseWriter, r *http.Request) {
	route, _, _ := strings.Cut(r.Host, ".")
	w.Header().Set(marker.RouteHeader, route)
	w.Header().Set(marker.GenerationHeader, "1")
	w.Header().Set(marker.PodHeader, "echo-a")
	fmt.Fprint(w, "body")
}

// hosts are those of n routes on listeners.
func hosts(n int, listeners ...string) []scenario.Expectation {
	var all []scenario.Expectation
	for i := range n {
		for _, l := range listeners {
			name := fmt.Sprintf("route-%05d", i)
			all = append(all, scenario.Expectation{Host: name + "." + l + ".gatemark.test", Want: marker.Expect(name, 1)})
		}
	}
	return all
}

func TestSweepAsksEveryReplicaForEveryRoute(t *testing.T) {
	var asked [2]atomic.Int32
	s := &scenario.Stage{}
	for i := range asked {
		s.Replicas = append(s.Replicas, scenariotest.Replica(t, fmt.Sprintf("ns/envoy-%d", i), func(w http.ResponseWriter, r *http.Request) {
			asked[i].Add(1)
			right(w, r)
		}))
	}
	all := hosts(10, "l0", "l1")
	swept, err := scenario.SweepRoutes(t.Context(), s, all)
	if err != nil || swept.Asked != 40 || swept.Right != 40 || len(swept.Words()) != 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	if a, b := asked[0].Load(), asked[1].Load(); a != 20 || b != 20 {
		t.Errorf("the replicas were asked %d and %d times, want 20", a, b)
	}
}

func TestSweepTellsWrongAnswersApart(t *testing.T) {
	bad := func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(r.Host, ".")
		switch {
		case name < "route-00010":
			http.NotFound(w, r)
		case name == "route-00010":
			w.Header().Set(marker.RouteHeader, "route-00011")
		case name == "route-00011": // 200, without a marker
		case name == "route-00012":
			w.WriteHeader(http.StatusServiceUnavailable)
		case name == "route-00013":
			w.Header().Set("Content-Length", "10")
			right(w, r) // is cut
		case name == "route-00014":
			panic(http.ErrAbortHandler)
		default:
			right(w, r)
		}
	}
	s := &scenario.Stage{Replicas: []kube.Replica{scenariotest.Replica(t, "ns/bad", bad), scenariotest.Replica(t, "ns/good", right)}}
	swept, err := scenario.SweepRoutes(t.Context(), s, hosts(20, "l0"))
	if err != nil {
		t.Fatal(err)
	}
	if swept.Asked != 40 || swept.Right != 25 {
		t.Errorf("asked %d, right %d", swept.Asked, swept.Right)
	}
	want := []string{"10× status 404", "2× answered by another route", "1× cut answer", "1× no answer", "1× status 503"}
	if diff := cmp.Diff(want, swept.Words()); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if len(swept.Examples) != 15 || !slices.Contains(swept.Examples, "route-00003.l0.gatemark.test on ns/bad: status 404") {
		t.Errorf("examples %q", swept.Examples)
	}
}

func TestSweepBoundsItsExamples(t *testing.T) {
	s := &scenario.Stage{Replicas: []kube.Replica{scenariotest.Replica(t, "ns/bad", http.NotFound)}}
	swept, err := scenario.SweepRoutes(t.Context(), s, hosts(50, "l0"))
	if err != nil || swept.Wrong["status 404"] != 50 || len(swept.Examples) != scenario.ExcerptLines {
		t.Errorf("%d wrong, %d examples, %v", swept.Wrong["status 404"], len(swept.Examples), err)
	}
}

func TestSweepEndsWithItsContext(t *testing.T) {
	s := &scenario.Stage{Replicas: []kube.Replica{scenariotest.Replica(t, "ns/good", right)}}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if swept, err := scenario.SweepRoutes(ctx, s, hosts(5, "l0")); err == nil {
		t.Errorf("a sweep without time is complete: %+v", swept)
	}
}

func TestSweepTellsWhatIsOld(t *testing.T) {
	s := &scenario.Stage{Replicas: []kube.Replica{scenariotest.Replica(t, "ns/good", right)}}
	host := func(route string) string { return route + ".gatemark.test" }
	newer, elsewhere := marker.Expect("b", 2), marker.Expect("c", 1)
	elsewhere.Pod = "echo-b"
	swept, err := scenario.SweepRoutes(t.Context(), s, []scenario.Expectation{
		{Host: host("a"), Want: marker.Expect("a", 1)}, {Host: host("b"), Want: newer}, {Host: host("c"), Want: elsewhere}, {Host: host("d"), Gone: true},
	})
	want := []string{"1× answered by a pod that is no endpoint any more", "1× answered by a route that is deleted", "1× answered by an old version of the route"}
	if diff := cmp.Diff(want, swept.Words()); err != nil || diff != "" || swept.Right != 1 {
		t.Errorf("%d right, %v, words (-want +got):\n%s", swept.Right, err, diff)
	}
	none := &scenario.Stage{Replicas: []kube.Replica{scenariotest.Replica(t, "ns/none", http.NotFound)}}
	if swept, err := scenario.SweepRoutes(t.Context(), none, []scenario.Expectation{{Host: host("d"), Gone: true}}); err != nil || swept.Right != 1 {
		t.Errorf("404 of what is gone: %+v, %v", swept, err)
	}
}

// TestSweepOverTLS: the host is the server name, and the certificate must be its
// own.
func TestSweepOverTLS(t *testing.T) {
	pair, err := scenario.NewKeyPair("*.a.test")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.ServerName != r.Host {
			t.Errorf("server name %s, host %s", r.TLS.ServerName, r.Host)
		}
		right(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if h.ServerName == "c.a.test" {
			return nil, errors.New("no such domain")
		}
		return &certificate, nil
	}}
	server.StartTLS()
	defer server.Close()
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	s := &scenario.Stage{Replicas: []kube.Replica{{Pod: "ns/p", IP: at.Addr(), Port: at.Port(), Serving: true}}}
	swept, err := scenario.SweepRoutes(t.Context(), s, []scenario.Expectation{
		{Host: "a.a.test", Want: marker.Expect("a", 1), Serial: pair.Serial}, {Host: "b.a.test", Want: marker.Expect("b", 1), Serial: "1"}, {Host: "c.a.test", Want: marker.Expect("c", 1), Serial: pair.Serial},
	})
	if diff := cmp.Diff([]string{"1× no handshake", "1× shown another certificate"}, swept.Words()); err != nil || diff != "" || swept.Right != 1 {
		t.Errorf("%d right, %v, words (-want +got):\n%s", swept.Right, err, diff)
	}
}
