package addedlatency

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/gatemark/gatemark/internal/kubetest"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// authenticating is a small proxy before an API server: it asks the API server
// whose token a request has, and remembers that if it is to.
type authenticating struct {
	kube    *kube.Client
	forward http.Handler
	known   *sync.Map // nil for a proxy that forgets
}

func (p *authenticating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !p.knows(r.Context(), token) {
		http.Error(w, "who is asking?", http.StatusUnauthorized)
		return
	}
	p.forward.ServeHTTP(w, r)
}

func (p *authenticating) knows(ctx context.Context, token string) bool {
	if p.known != nil {
		if _, ok := p.known.Load(token); ok {
			return true
		}
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := p.kube.Create(ctx, review); err != nil || !review.Status.Authenticated {
		return false
	}
	if p.known != nil {
		p.known.Store(token, true)
	}
	return true
}

func startAuthenticating(t *testing.T, c *kube.Client, remembers bool) string {
	t.Helper()
	// It passes on who is asking, and shows no identity of its own.
	config := rest.AnonymousClientConfig(c.Config)
	config.QPS = -1
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	at, _, err := rest.DefaultServerUrlFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	p := &authenticating{kube: c, forward: &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: at.Scheme, Host: at.Host}) },
		Transport: transport,
	}}
	if remembers {
		p.known = new(sync.Map)
	}
	server := httptest.NewTLSServer(p)
	t.Cleanup(server.Close)
	return server.URL
}

// TestAuthenticatingProxies: any proxy before an API server can be measured, and
// what it asks the API server by itself shows.
func TestAuthenticatingProxies(t *testing.T) {
	c, _ := kubetest.Start(t)
	for _, test := range []struct {
		name, auth, verb string
		remembers        bool
		findings         []string
		least, most      float64 // requests for each that was sent
	}{
		{"forgets", byToken, "get", false, []string{"more-upstream"}, 1.99, 2.01},
		{"remembers", byToken, "create", true, nil, 0.99, 1.1},
		{"remembers-in-vain", byFreshToken, "get", true, []string{"more-upstream"}, 1.9, 2.01},
	} {
		t.Run(test.name, func(t *testing.T) {
			kubetest.Namespace(t, c, test.name)
			trial := scenariotest.Trial(t, Scenario, map[string]any{
				"upstream": toAPIServer, "auth": test.auth, "verb": test.verb, "target": startAuthenticating(t, c, test.remembers),
				"blocks": 2, "rate": 100, "warmup": "50ms", "duration": "300ms",
			})
			trial.Kube, trial.Namespace = c, test.name
			trial.Attack = func(context.Context, int) (scenario.Attackers, error) { return &scenariotest.Attackers{}, nil }
			if err := Scenario.Run(t.Context(), trial); err != nil {
				t.Fatal(err)
			}
			r := trial.Result
			m := r.Metrics["upstream-per-request"]
			if m.Value == nil || *m.Value < test.least || *m.Value > test.most {
				t.Errorf("upstream-per-request is %+v, want %g to %g", m, test.least, test.most)
			}
			if *r.Metrics["errors"].Value != 0 {
				t.Errorf("errors: %+v", r.Findings)
			}
			for _, name := range test.findings {
				if f := scenariotest.Finding(t, r, name); f.Severity != result.Costly {
					t.Errorf("%+v", f)
				}
			}
			if len(test.findings) == 0 {
				for _, f := range r.Findings {
					if f.ID == "added-latency/more-upstream" {
						t.Errorf("%+v", f)
					}
				}
			}
			if testing.Verbose() {
				text, _ := json.MarshalIndent(r.Tables, "", " ")
				t.Logf("%s\n%s", text, strings.Join(r.Notes, "\n"))
			}
		})
	}
}

func TestWhatAnAPIServerCounted(t *testing.T) {
	f, err := os.Open("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := readAccount(f, http.MethodGet)
	if err != nil {
		t.Fatal(err)
	}
	if got[configMaps] != (tally{30, 0.5}) || got[tokenReviews] != (tally{7, 0.07}) || got.requests() != 37 {
		t.Errorf("%+v", got)
	}
	since := got.minus(account{configMaps: {10, 0.25}})
	if since[configMaps] != (tally{20, 0.25}) || since[tokenReviews] != (tally{7, 0.07}) {
		t.Errorf("%+v", since)
	}
	if _, err := readAccount(strings.NewReader("a{b=\"c\" 1\n"), http.MethodGet); err == nil {
		t.Error("what is no metric was read")
	}
}

func TestMoreUpstream(t *testing.T) {
	counted := func(reviews float64) *trial {
		all := blocksOf(8, 400*µs)
		for _, one := range all {
			one.account = account{configMaps: {240, 0.024}}
			if one.way == gateway {
				one.account[tokenReviews] = tally{reviews, 0.1}
			}
		}
		return reported(t, all)
	}
	tr := counted(240)
	scenariotest.CheckFindings(t, tr.Result, "more-upstream costly")
	if m := tr.Result.Metrics["upstream-per-request"]; *m.Value != 2 {
		t.Errorf("%+v", m)
	}
	if !slicesContain(tr.Result.Notes, "busy with a request for 100µs on the direct path") {
		t.Errorf("%q", tr.Result.Notes)
	}
	scenariotest.CheckFindings(t, counted(48).Result, "more-upstream notable")
	scenariotest.CheckFindings(t, counted(2).Result)
	scenariotest.CheckShape(t, Scenario, tr.Result)
}
