package dataplane

import (
	"net/http/httptest"
	"testing"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

func path(kind gatewayv1.PathMatchType, value string) gatewayv1.HTTPRouteMatch {
	return gatewayv1.HTTPRouteMatch{Path: &gatewayv1.HTTPPathMatch{Type: &kind, Value: &value}}
}

func exactly(value string) gatewayv1.HTTPRouteMatch { return path(gatewayv1.PathMatchExact, value) }
func startsWith(value string) gatewayv1.HTTPRouteMatch {
	return path(gatewayv1.PathMatchPathPrefix, value)
}

func withHeader(m gatewayv1.HTTPRouteMatch, name, value string) gatewayv1.HTTPRouteMatch {
	m.Headers = append(m.Headers, gatewayv1.HTTPHeaderMatch{Name: gatewayv1.HTTPHeaderName(name), Value: value})
	return m
}

func withParam(m gatewayv1.HTTPRouteMatch, name, value string) gatewayv1.HTTPRouteMatch {
	m.QueryParams = append(m.QueryParams, gatewayv1.HTTPQueryParamMatch{Name: gatewayv1.HTTPHeaderName(name), Value: value})
	return m
}

func withMethod(m gatewayv1.HTTPRouteMatch, method gatewayv1.HTTPMethod) gatewayv1.HTTPRouteMatch {
	m.Method = &method
	return m
}

func TestMatch(t *testing.T) {
	regexHeader := gatewayv1.HTTPRouteMatch{Headers: []gatewayv1.HTTPHeaderMatch{{
		Type: ptr.To(gatewayv1.HeaderMatchRegularExpression), Name: "v", Value: "a+"}}}
	for _, c := range []struct {
		name   string
		match  gatewayv1.HTTPRouteMatch
		target string
		header [2]string
		want   bool
	}{
		{"exact", exactly("/a"), "/a", [2]string{}, true},
		{"exact with a slash", exactly("/a"), "/a/", [2]string{}, false},
		{"exact in another case", exactly("/a"), "/A", [2]string{}, false},
		{"prefix itself", startsWith("/a"), "/a", [2]string{}, true},
		{"prefix below", startsWith("/a"), "/a/b", [2]string{}, true},
		{"prefix by elements", startsWith("/a"), "/ab", [2]string{}, false},
		{"prefix with a slash matches without", startsWith("/a/"), "/a", [2]string{}, true},
		{"prefix of all", startsWith("/"), "/b", [2]string{}, true},
		{"an escaped slash is no slash", startsWith("/a"), "/a%2Fb", [2]string{}, false},
		{"expression", path(gatewayv1.PathMatchRegularExpression, "/a[0-9]+"), "/a12", [2]string{}, true},
		{"expression is for the whole path", path(gatewayv1.PathMatchRegularExpression, "/a[0-9]+"), "/a12/b", [2]string{}, false},
		{"header", withHeader(startsWith("/"), "version", "one"), "/", [2]string{"Version", "one"}, true},
		{"header of another value", withHeader(startsWith("/"), "version", "one"), "/", [2]string{"Version", "two"}, false},
		{"no header", withHeader(startsWith("/"), "version", ""), "/", [2]string{}, false},
		{"only the first of two equal names counts", withHeader(withHeader(startsWith("/"), "v", "1"), "V", "2"), "/", [2]string{"v", "1"}, true},
		{"header by expression", regexHeader, "/", [2]string{"V", "aaa"}, true},
		{"header not by expression", regexHeader, "/", [2]string{"V", "aab"}, false},
		{"parameter", withParam(startsWith("/"), "q", "x y"), "/?q=x+y", [2]string{}, true},
		{"parameter of another case", withParam(startsWith("/"), "q", "x"), "/?Q=x", [2]string{}, false},
		{"no parameter", withParam(startsWith("/"), "q", ""), "/", [2]string{}, false},
		{"method", withMethod(startsWith("/"), "GET"), "/", [2]string{}, true},
		{"another method", withMethod(startsWith("/"), "POST"), "/", [2]string{}, false},
	} {
		r := httptest.NewRequest("GET", c.target, nil)
		if c.header[0] != "" {
			r.Header.Set(c.header[0], c.header[1])
		}
		m, err := compileMatch(&c.match)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.matches(newQuery(r)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestNoMatchesMatchAll(t *testing.T) {
	all, err := compileMatches(nil)
	if err != nil || len(all) != 1 || !all[0].matches(newQuery(httptest.NewRequest("PUT", "/x", nil))) {
		t.Errorf("%v, %v", all, err)
	}
}

func TestAnExpressionThatCannotBeRead(t *testing.T) {
	m := path(gatewayv1.PathMatchRegularExpression, "(")
	if _, err := compileMatch(&m); err == nil {
		t.Error("no error")
	}
}

// ruled is a listener with a rule for each match, each from a route of its own.
func ruled(hosts map[string][]string, rules ...any) config.Listener {
	l := config.Listener{Name: "http", Port: 80}
	for i := 0; i < len(rules); i += 2 {
		name := rules[i].(string)
		l.Rules = append(l.Rules, config.Rule{Route: name, Hostnames: hosts[name],
			Matches: []gatewayv1.HTTPRouteMatch{rules[i+1].(gatewayv1.HTTPRouteMatch)}})
	}
	return l
}

// TestPrecedence asks what the Gateway API says of HTTPRouteRule.matches, with
// the less specific rules first.
func TestPrecedence(t *testing.T) {
	l := ruled(nil,
		"all", startsWith("/"),
		"param", withParam(startsWith("/a"), "q", "1"),
		"header", withHeader(startsWith("/a"), "h", "1"),
		"headers", withHeader(withHeader(startsWith("/a"), "h", "1"), "i", "1"),
		"method", withMethod(startsWith("/a"), "GET"),
		"longer", startsWith("/a/b"),
		"exact", exactly("/a/b"),
		"older", startsWith("/tie"), "newer", startsWith("/tie"),
		"method of any service", path(config.PathMatchSuffix, "/m"), "any method of a service", startsWith("/s"),
	)
	compiled, err := compileListener(&l, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, target, header, want string }{
		{"POST", "/", "", "all"},
		{"POST", "/a?q=1", "", "param"},
		{"POST", "/a?q=1", "h", "header"},
		{"POST", "/a?q=1", "hi", "headers"},
		{"GET", "/a?q=1", "hi", "method"},
		{"GET", "/a/b/c", "hi", "longer"},
		{"GET", "/a/b", "hi", "exact"},
		{"GET", "/tie", "", "older"},
		{"POST", "/t/m", "", "method of any service"},
		{"POST", "/s/m", "", "any method of a service"},
	} {
		r := httptest.NewRequest(c.method, c.target, nil)
		for _, name := range c.header {
			r.Header.Set(string(name), "1")
		}
		if e := compiled.find(newQuery(r)); e == nil || e.rule.route != c.want {
			t.Errorf("%s %s %s: got %v, want %s", c.method, c.target, c.header, e, c.want)
		}
	}
}

func TestHostsGoFirst(t *testing.T) {
	hosts := map[string][]string{"exact": {"a.example.com"}, "short": {"*.com"}, "long": {"*.example.com"}}
	l := ruled(hosts, "any", exactly("/x"), "short", exactly("/x"), "long", exactly("/x"), "exact", startsWith("/"))
	compiled, err := compileListener(&l, nil)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"a.example.com": "exact", "A.example.com:80": "exact", "b.example.com": "long", "c.b.example.com": "long",
		"example.com": "short", "com": "any", "other": "any",
	} {
		r := httptest.NewRequest("GET", "/x", nil)
		r.Host = host
		if e := compiled.find(newQuery(r)); e == nil || e.rule.route != want {
			t.Errorf("%s: got %v, want %s", host, e, want)
		}
	}
}
