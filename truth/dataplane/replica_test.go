package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
	"github.com/gatemark/gatemark/truth/feed"
)

var addresses atomic.Uint32

// loopback is an address that no other test listens on.
func loopback() netip.Addr {
	pid, n := os.Getpid(), addresses.Add(1)
	return netip.AddrFrom4([4]byte{127, byte(100 + pid>>8%100), byte(pid), byte(n)})
}

// A bench is a replica with its feed, and how it is asked.
type bench struct {
	t       *testing.T
	feed    *feed.Feed
	replica *Replica
	version int64
	address netip.Addr
	faults  fault.Switch

	backends map[string]config.Backend // of both
}

func start(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, feed: new(feed.Feed), address: loopback()}
	b.replica = New(b.feed.For("a/gateway"), Options{Address: b.address, Faults: &b.faults})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.replica.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

// publish makes a configuration and waits until it is in force.
func (b *bench) publish(backends map[string]config.Backend, listeners ...config.Listener) {
	b.t.Helper()
	b.version++
	b.feed.Publish(&config.Snapshot{Gateway: "a/gateway", Version: b.version, Listeners: listeners, Backends: backends})
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	if err := b.replica.Wait(ctx, b.version); err != nil {
		b.t.Fatal(err)
	}
}

// url is of a path on a listener's port.
func (b *bench) url(scheme string, port int32, path string) string {
	return fmt.Sprintf("%s://%s%s", scheme, netip.AddrPortFrom(b.address, uint16(config.ServingPort(port))), path)
}

func (b *bench) request(method, host, path string, body io.Reader) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url("http", 80, path), body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Host = host
	return r
}

func (b *bench) do(r *http.Request) (status int, body string, header http.Header) {
	b.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

func (b *bench) get(host, path string) (int, string, http.Header) {
	b.t.Helper()
	return b.do(b.request("GET", host, path, nil))
}

func (b *bench) expect(host, path string, status int) http.Header {
	b.t.Helper()
	got, text, header := b.get(host, path)
	if got != status {
		b.t.Errorf("%s%s: status %d (%s), want %d", host, path, got, strings.TrimSpace(text), status)
	}
	return header
}

// backendOf is a server as a backend.
func backendOf(t *testing.T, h http.HandlerFunc) config.Backend {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return config.Backend{Endpoints: []netip.AddrPort{netip.MustParseAddrPort(server.Listener.Addr().String())}}
}

// says answers with a name and what was asked.
func says(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s %s", name, r.Host, r.URL.RequestURI(), r.Header.Get("X-Added"))
	}
}

func to(backend string) []config.Weighted { return []config.Weighted{{Backend: backend, Weight: 1}} }

func plain(rules ...config.Rule) config.Listener {
	return config.Listener{Name: "http", Port: 80, Rules: rules}
}

func TestServe(t *testing.T) {
	b := start(t)
	backends := map[string]config.Backend{"a": backendOf(t, says("a")), "empty": {}}
	b.publish(backends, plain(
		config.Rule{Route: "n/a", Hostnames: []string{"a.test"}, Backends: to("a")},
		config.Rule{Route: "n/b", Hostnames: []string{"empty.test"}, Backends: to("empty")},
		config.Rule{Route: "n/c", Hostnames: []string{"unresolved.test"}, Backends: to("none")},
		config.Rule{Route: "n/d", Hostnames: []string{"nothing.test"}},
	))
	if status, text, _ := b.get("a.test", "/x?y=1&z"); status != 200 || text != "a a.test /x?y=1&z " {
		t.Errorf("status %d, %q", status, text)
	}
	b.expect("other.test", "/", 404)
	b.expect("empty.test", "/", 503)
	b.expect("unresolved.test", "/", 500)
	b.expect("nothing.test", "/", 500)
	b.publish(backends, plain())
	b.expect("a.test", "/", 404)
}

func TestPortsComeAndGo(t *testing.T) {
	b := start(t)
	one, two := plain(), config.Listener{Name: "two", Port: 8080}
	ask := func(port int32) error {
		response, err := http.Get(b.url("http", port, "/"))
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	b.publish(nil, one, two)
	if err := errors.Join(ask(80), ask(8080)); err != nil {
		t.Error(err)
	}
	b.publish(nil, two)
	if ask(80) == nil || ask(8080) != nil {
		t.Errorf("after port 80 went: %v, %v", ask(80), ask(8080))
	}
}

func TestFilters(t *testing.T) {
	b := start(t)
	b.publish(map[string]config.Backend{"a": backendOf(t, says("a"))}, plain(
		config.Rule{Route: "n/rewrite", Hostnames: []string{"rewrite.test"}, Matches: []gatewayv1.HTTPRouteMatch{startsWith("/old")},
			Filters: []gatewayv1.HTTPRouteFilter{
				{Type: gatewayv1.HTTPRouteFilterURLRewrite, URLRewrite: &gatewayv1.HTTPURLRewriteFilter{
					Hostname: ptr.To(gatewayv1.PreciseHostname("b.test")),
					Path:     &gatewayv1.HTTPPathModifier{Type: gatewayv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: ptr.To("/new")}}},
				{Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: &gatewayv1.HTTPHeaderFilter{
					Set: []gatewayv1.HTTPHeader{{Name: "X-Answer", Value: "yes"}}, Remove: []string{"Date"}}},
			},
			Backends: []config.Weighted{{Backend: "a", Weight: 1, Filters: []gatewayv1.HTTPRouteFilter{{
				Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: &gatewayv1.HTTPHeaderFilter{
					Set: []gatewayv1.HTTPHeader{{Name: "X-Added", Value: "here"}}}}}}}},
		config.Rule{Route: "n/redirect", Hostnames: []string{"redirect.test"}, Filters: []gatewayv1.HTTPRouteFilter{{
			Type:            gatewayv1.HTTPRouteFilterRequestRedirect,
			RequestRedirect: &gatewayv1.HTTPRequestRedirectFilter{Scheme: ptr.To("https"), StatusCode: ptr.To(301)}}}},
		config.Rule{Route: "n/cors", Hostnames: []string{"cors.test"}, Backends: to("a"), Filters: []gatewayv1.HTTPRouteFilter{{
			Type: gatewayv1.HTTPRouteFilterCORS, CORS: &gatewayv1.HTTPCORSFilter{AllowOrigins: []gatewayv1.CORSOrigin{"*"}}}}},
	))
	status, text, header := b.get("rewrite.test", "/old/x%2Fy?q=1")
	if status != 200 || text != "a b.test /new/x%2Fy?q=1 here" || header.Get("X-Answer") != "yes" {
		t.Errorf("rewrite: %d %q %v", status, text, header)
	}
	if header := b.expect("redirect.test", "/p", 301); header.Get("Location") != "https://redirect.test/p" {
		t.Errorf("redirect: %v", header)
	}
	r := b.request("GET", "cors.test", "/", nil)
	r.Header.Set("Origin", "http://o")
	if status, text, header := b.do(r); status != 200 || text == "" || header.Get("Access-Control-Allow-Origin") != "http://o" {
		t.Errorf("cors: %d %q %v", status, text, header)
	}
}

func TestTimeouts(t *testing.T) {
	b := start(t)
	slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	b.publish(map[string]config.Backend{"slow": backendOf(t, slow), "fast": backendOf(t, says("fast"))}, plain(
		config.Rule{Route: "n/a", Hostnames: []string{"request.test"}, Backends: to("slow"),
			Timeouts: &gatewayv1.HTTPRouteTimeouts{Request: ptr.To(gatewayv1.Duration("20ms"))}},
		config.Rule{Route: "n/b", Hostnames: []string{"backend.test"}, Backends: to("slow"),
			Timeouts: &gatewayv1.HTTPRouteTimeouts{BackendRequest: ptr.To(gatewayv1.Duration("20ms"))}},
		config.Rule{Route: "n/c", Hostnames: []string{"none.test"}, Backends: to("fast"),
			Timeouts: &gatewayv1.HTTPRouteTimeouts{Request: ptr.To(gatewayv1.Duration("0s")), BackendRequest: ptr.To(gatewayv1.Duration("1m"))}},
	))
	b.expect("request.test", "/", 504)
	b.expect("backend.test", "/", 504)
	b.expect("none.test", "/", 200)
}

func TestRetries(t *testing.T) {
	b := start(t)
	var asked atomic.Int64
	second := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || asked.Add(1) == 1 {
			w.WriteHeader(500)
			return
		}
		fmt.Fprintf(w, "got %s", body)
	}
	never := func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(503)
	}
	retry := &gatewayv1.HTTPRouteRetry{Codes: []gatewayv1.HTTPRouteRetryStatusCode{500, 503}, Attempts: ptr.To(2), Backoff: ptr.To(gatewayv1.Duration("1ms"))}
	b.publish(map[string]config.Backend{"second": backendOf(t, second), "never": backendOf(t, never)}, plain(
		config.Rule{Route: "n/a", Hostnames: []string{"second.test"}, Backends: to("second"), Retry: retry},
		config.Rule{Route: "n/b", Hostnames: []string{"never.test"}, Backends: to("never"), Retry: retry},
		config.Rule{Route: "n/c", Hostnames: []string{"once.test"}, Backends: to("never")},
	))
	if status, text, _ := b.do(b.request("POST", "second.test", "/", strings.NewReader("body"))); status != 200 || text != "got body" {
		t.Errorf("status %d, %q", status, text)
	}
	for host, want := range map[string]int64{"never.test": 3, "once.test": 1} {
		asked.Store(0)
		b.expect(host, "/", 503)
		if got := asked.Load(); got != want {
			t.Errorf("%s: the backend was asked %d times, want %d", host, got, want)
		}
	}
}

// Nothing was sent to an endpoint that takes no connection.
func TestAnotherEndpointIsTried(t *testing.T) {
	b := start(t)
	var got atomic.Int64
	good := backendOf(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			w.WriteHeader(500)
		}
		got.Add(n)
	})
	closed := httptest.NewServer(nil)
	dead := netip.MustParseAddrPort(closed.Listener.Addr().String())
	closed.Close()
	good.Endpoints = append(good.Endpoints, dead)
	b.publish(map[string]config.Backend{"half": good, "dead": {Endpoints: []netip.AddrPort{dead}}}, plain(
		config.Rule{Route: "n/a", Hostnames: []string{"half.test"}, Backends: to("half")},
		config.Rule{Route: "n/b", Hostnames: []string{"dead.test"}, Backends: to("dead")},
	))
	for range 4 {
		if status, _, _ := b.do(b.request("POST", "half.test", "/", strings.NewReader("four"))); status != 200 {
			t.Errorf("status %d", status)
		}
	}
	if got.Load() != 16 {
		t.Errorf("backends got %d bytes, want 16", got.Load())
	}
	b.expect("dead.test", "/", 502)
}

func TestHTTP2WithoutTLS(t *testing.T) {
	b := start(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	endpoint := netip.MustParseAddrPort(server.Listener.Addr().String())
	b.publish(map[string]config.Backend{"h2c": {H2C: true, Endpoints: []netip.AddrPort{endpoint}}},
		plain(config.Rule{Route: "n/a", Backends: to("h2c")}))
	if status, text, _ := b.get("a.test", "/"); status != 200 || text != "HTTP/2.0" {
		t.Errorf("from HTTP/1.1: %d %q", status, text)
	}
	transport := &http.Transport{Protocols: new(http.Protocols)}
	defer transport.CloseIdleConnections()
	transport.Protocols.SetUnencryptedHTTP2(true)
	response, err := transport.RoundTrip(b.request("GET", "a.test", "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 || response.ProtoMajor != 2 {
		t.Errorf("from HTTP/2: %s %s", response.Proto, response.Status)
	}
}

func TestForceTellsSinceWhen(t *testing.T) {
	b := start(t)
	rule := func(name string, generation int64) config.Rule {
		return config.Rule{Route: name, Generation: generation}
	}
	before := time.Now()
	b.publish(nil, plain(rule("n/kept", 1), rule("n/changed", 1), rule("n/gone", 1)))
	first := b.replica.Force()
	b.publish(nil, plain(rule("n/kept", 1), rule("n/changed", 2)))
	second := b.replica.Force()
	if first.Version != 1 || second.Version != 2 || first.Since.Before(before) || !second.Since.After(first.Since) {
		t.Errorf("%+v, then %+v", first, second)
	}
	if len(second.Routes) != 2 || second.Routes["n/kept"].Since != first.Since || second.Routes["n/changed"].Since != second.Since {
		t.Errorf("%+v, then %+v", first, second)
	}
}

func TestAdmin(t *testing.T) {
	b := start(t)
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		b.replica.Admin().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w
	}
	if got := ask("/readyz").Code; got != 503 {
		t.Errorf("without a configuration: status %d", got)
	}
	b.publish(nil, plain())
	if got := ask("/readyz").Code; got != 200 {
		t.Errorf("with a configuration: status %d", got)
	}
	if got := ask("/force").Body.String(); !strings.Contains(got, `"version":1`) {
		t.Errorf("it tells %s", got)
	}
}

func TestAConfigurationThatCannotBeServed(t *testing.T) {
	f := new(feed.Feed)
	f.Publish(&config.Snapshot{Gateway: "a/b", Version: 1, Listeners: []config.Listener{{Name: "https", Port: 443, TLS: true,
		Certificates: []config.Certificate{{Chain: []byte("none")}}}}})
	err := New(f.For("a/b"), Options{Address: loopback()}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "listener https") {
		t.Errorf("error %v", err)
	}
}
