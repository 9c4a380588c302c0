package dataplane

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestReplacePrefix has the table of HTTPPathModifier.replacePrefixMatch, and
// what it does not say.
func TestReplacePrefix(t *testing.T) {
	for _, c := range []struct{ path, prefix, replacement, want string }{
		{"/foo/bar", "/foo", "/xyz", "/xyz/bar"},
		{"/foo/bar", "/foo", "/xyz/", "/xyz/bar"},
		{"/foo/bar", "/foo/", "/xyz", "/xyz/bar"},
		{"/foo/bar", "/foo/", "/xyz/", "/xyz/bar"},
		{"/foo", "/foo", "/xyz", "/xyz"},
		{"/foo/", "/foo", "/xyz", "/xyz/"},
		{"/foo/bar", "/foo", "", "/bar"},
		{"/foo/", "/foo", "", "/"},
		{"/foo", "/foo", "", "/"},
		{"/foo/", "/foo", "/", "/"},
		{"/foo", "/foo", "/", "/"},
		{"/bar", "/", "/xyz", "/xyz/bar"},
		{"/", "/", "/xyz", "/xyz/"},
		{"/foo/b%2Fr", "/foo", "/xyz", "/xyz/b%2Fr"},
	} {
		f, err := compileFilters(nil, []gatewayv1.HTTPRouteMatch{startsWith(c.prefix)})
		if err != nil {
			t.Fatal(err)
		}
		change := &gatewayv1.HTTPPathModifier{Type: gatewayv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: &c.replacement}
		if got := f.replace(c.path, change); got != c.want {
			t.Errorf("%s, prefix %s by %q: got %s, want %s", c.path, c.prefix, c.replacement, got, c.want)
		}
	}
}

func TestLocation(t *testing.T) {
	for _, c := range []struct {
		name   string
		filter gatewayv1.HTTPRequestRedirectFilter
		secure bool
		port   int32
		want   string
	}{
		{"host", gatewayv1.HTTPRequestRedirectFilter{Hostname: ptr.To(gatewayv1.PreciseHostname("b"))}, false, 80, "http://b/p?q=1"},
		{"the listener's port", gatewayv1.HTTPRequestRedirectFilter{}, false, 8080, "http://a:8080/p?q=1"},
		{"the scheme's port", gatewayv1.HTTPRequestRedirectFilter{Scheme: ptr.To("https")}, false, 8080, "https://a/p?q=1"},
		{"its own port", gatewayv1.HTTPRequestRedirectFilter{Scheme: ptr.To("https"), Port: ptr.To[int32](80)}, false, 80, "https://a:80/p?q=1"},
		{"a port that goes without saying", gatewayv1.HTTPRequestRedirectFilter{Port: ptr.To[int32](443)}, true, 8443, "https://a/p?q=1"},
		{"path", gatewayv1.HTTPRequestRedirectFilter{Path: &gatewayv1.HTTPPathModifier{
			Type: gatewayv1.FullPathHTTPPathModifier, ReplaceFullPath: ptr.To("/x y")}}, false, 80, "http://a/x%20y?q=1"},
	} {
		r := httptest.NewRequest("GET", "/p?q=1", nil)
		r.Host = "a:1234"
		if c.secure {
			r.TLS = &tls.ConnectionState{}
		}
		f := filters{redirect: &c.filter}
		if got, err := f.location(r, c.port); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestModify(t *testing.T) {
	header := http.Header{"A": {"1"}, "B": {"1"}, "C": {"1"}}
	modify(header, &gatewayv1.HTTPHeaderFilter{
		Set:    []gatewayv1.HTTPHeader{{Name: "a", Value: "2"}},
		Add:    []gatewayv1.HTTPHeader{{Name: "b", Value: "2"}},
		Remove: []string{"c"},
	})
	if header.Get("A") != "2" || len(header["B"]) != 2 || len(header["C"]) != 0 {
		t.Errorf("got %v", header)
	}
}

func TestAFilterThatIsNotSupported(t *testing.T) {
	if _, err := compileFilters([]gatewayv1.HTTPRouteFilter{{Type: gatewayv1.HTTPRouteFilterRequestMirror}}, nil); err == nil {
		t.Error("no error")
	}
}

func TestCORS(t *testing.T) {
	listed := newCORS(&gatewayv1.HTTPCORSFilter{
		AllowOrigins: []gatewayv1.CORSOrigin{"https://a.example", "https://*.b.example"}, AllowCredentials: ptr.To(true),
		AllowMethods: []gatewayv1.HTTPMethodWithWildcard{"GET", "PUT"}, AllowHeaders: []gatewayv1.HTTPHeaderName{"x-1", "x-2"},
		ExposeHeaders: []gatewayv1.HTTPHeaderName{"x-3"}, MaxAge: 60})
	all := gatewayv1.HTTPCORSFilter{AllowOrigins: []gatewayv1.CORSOrigin{"*"}, ExposeHeaders: []gatewayv1.HTTPHeaderName{"*"},
		AllowMethods: []gatewayv1.HTTPMethodWithWildcard{"*"}, AllowHeaders: []gatewayv1.HTTPHeaderName{"*"}}
	credible := all
	credible.AllowCredentials = ptr.To(true)
	const origin, methods, headers = "Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"
	const credentials, expose, age = "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers", "Access-Control-Max-Age"
	for _, c := range []struct {
		name, origin string
		cors         *cors
		want         map[string]string
	}{
		{"listed", "https://a.example", listed, map[string]string{origin: "https://a.example", methods: "GET, PUT",
			headers: "x-1, x-2", credentials: "true", expose: "x-3", age: "60"}},
		{"by wildcard", "https://d.c.b.example", listed, map[string]string{origin: "https://d.c.b.example"}},
		{"not listed", "https://c.example", listed, map[string]string{origin: "", methods: "", credentials: "", age: ""}},
		{"a dot is a dot", "https://axexample", listed, map[string]string{origin: ""}},
		{"all", "http://x:1", newCORS(&all), map[string]string{origin: "http://x:1", methods: "*", headers: "*", expose: "*", credentials: "", age: "5"}},
		{"all, with credentials", "http://x:1", newCORS(&credible), map[string]string{origin: "http://x:1", methods: "PUT", headers: "x-9", expose: "", credentials: "true"}},
	} {
		r := httptest.NewRequest(http.MethodOptions, "/", nil)
		r.Header.Set("Origin", c.origin)
		r.Header.Set(requestMethod, "PUT")
		r.Header.Set(requestHeaders, "x-9")
		if !preflight(r) {
			t.Fatal("this is a preflight request")
		}
		w := httptest.NewRecorder()
		c.cors.answer(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d", c.name, w.Code)
		}
		for name, want := range c.want {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", c.name, name, got, want)
			}
		}
	}
}

func TestSharesAreExact(t *testing.T) {
	b := new(balance)
	for _, weight := range []int64{70, 0, 30} {
		b.add(&backend{}, weight, filters{})
	}
	got := map[*target]int{}
	for range 50 {
		got[b.next()]++
	}
	if len(b.targets) != 2 || got[b.targets[0]] != 35 || got[b.targets[1]] != 15 {
		t.Errorf("got %v", got)
	}
	if new(balance).next() != nil {
		t.Error("a rule without backends has one")
	}
}
