package dataplane

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

// A query is what of a request is matched.
type query struct {
	host   string // in lower case, without a port
	path   string // as it was sent: escaped
	method string
	header http.Header
	values url.Values // parsed when first needed
	raw    string
}

func newQuery(r *http.Request) *query {
	return &query{host: hostOf(r.Host), path: r.URL.EscapedPath(), method: r.Method, header: r.Header, raw: r.URL.RawQuery}
}

func hostOf(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		authority = host
	}
	return strings.ToLower(authority)
}

func (q *query) param(name string) (string, bool) {
	if q.values == nil {
		// What cannot be parsed is not there.
		q.values, _ = url.ParseQuery(q.raw)
	}
	all, ok := q.values[name]
	if !ok {
		return "", false
	}
	return all[0], true
}

// kinds of path, the more specific first. Where an expression stands is left
// to implementations.
const (
	exact = iota
	expression
	prefix
	suffix
	all
)

// A match is one of a rule's. All that is in it must hold.
type match struct {
	kind    int
	path    string // without a slash at its end where kind is prefix; then it is not empty
	regex   *regexp.Regexp
	method  string
	headers []valueMatch
	params  []valueMatch
}

type valueMatch struct {
	name, value string
	regex       *regexp.Regexp
}

func (v *valueMatch) matches(value string) bool {
	if v.regex != nil {
		return v.regex.MatchString(value)
	}
	return v.value == value
}

func compileMatches(from []gatewayv1.HTTPRouteMatch) ([]match, error) {
	if len(from) == 0 { // all requests
		return []match{{kind: all}}, nil
	}
	var all []match
	for i := range from {
		m, err := compileMatch(&from[i])
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// Whole compiles an expression that must match all of a text.
func Whole(expression string) (*regexp.Regexp, error) {
	compiled, err := regexp.Compile("^(?:" + expression + ")$")
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", expression, err)
	}
	return compiled, nil
}

func compileMatch(from *gatewayv1.HTTPRouteMatch) (match, error) {
	m := match{kind: all}
	var err error
	if from.Path != nil {
		value := ptr.Deref(from.Path.Value, "/")
		switch ptr.Deref(from.Path.Type, gatewayv1.PathMatchPathPrefix) {
		case gatewayv1.PathMatchExact:
			m.kind, m.path = exact, value
		case gatewayv1.PathMatchRegularExpression:
			m.kind, m.path = expression, value
			if m.regex, err = Whole(value); err != nil {
				return m, err
			}
		case config.PathMatchSuffix:
			m.kind, m.path = suffix, value
		default:
			if m.path = strings.TrimSuffix(value, "/"); m.path != "" {
				m.kind = prefix
			}
		}
	}
	m.method = string(ptr.Deref(from.Method, ""))
	// Of entries with the same name only the first is looked at.
	seen := map[string]bool{}
	for _, h := range from.Headers {
		name := http.CanonicalHeaderKey(string(h.Name))
		if seen["h"+name] {
			continue
		}
		seen["h"+name] = true
		isRegex := ptr.Deref(h.Type, gatewayv1.HeaderMatchExact) == gatewayv1.HeaderMatchRegularExpression
		v, err := newValueMatch(name, h.Value, isRegex)
		if err != nil {
			return m, err
		}
		m.headers = append(m.headers, v)
	}
	for _, p := range from.QueryParams {
		name := string(p.Name)
		if seen["q"+name] {
			continue
		}
		seen["q"+name] = true
		isRegex := ptr.Deref(p.Type, gatewayv1.QueryParamMatchExact) == gatewayv1.QueryParamMatchRegularExpression
		v, err := newValueMatch(name, p.Value, isRegex)
		if err != nil {
			return m, err
		}
		m.params = append(m.params, v)
	}
	return m, nil
}

func newValueMatch(name, value string, isRegex bool) (valueMatch, error) {
	v := valueMatch{name: name, value: value}
	var err error
	if isRegex {
		v.regex, err = Whole(value)
	}
	return v, err
}

func (m *match) matches(q *query) bool {
	switch m.kind {
	case exact:
		if q.path != m.path {
			return false
		}
	case expression:
		if !m.regex.MatchString(q.path) {
			return false
		}
	case prefix:
		if !below(m.path, q.path) {
			return false
		}
	case suffix:
		if !strings.HasSuffix(q.path, m.path) {
			return false
		}
	}
	if m.method != "" && m.method != q.method {
		return false
	}
	for i := range m.headers {
		h := &m.headers[i]
		values, ok := q.header[h.name]
		if h.name == "Host" {
			values, ok = []string{q.host}, true
		}
		if !ok || !h.matches(strings.Join(values, ",")) {
			return false
		}
	}
	for i := range m.params {
		value, ok := q.param(m.params[i].name)
		if !ok || !m.params[i].matches(value) {
			return false
		}
	}
	return true
}

// below reports whether a path begins with all elements of a prefix, which has
// no slash at its end.
func below(prefix, path string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// compare orders matches as the Gateway API does: exact paths, then longer
// ones, a method, more headers, more query parameters.
func (m *match) compare(other *match) int {
	return cmp.Or(
		cmp.Compare(m.kind, other.kind),
		-cmp.Compare(len(m.path), len(other.path)),
		-cmp.Compare(min(len(m.method), 1), min(len(other.method), 1)),
		-cmp.Compare(len(m.headers), len(other.headers)),
		-cmp.Compare(len(m.params), len(other.params)),
	)
}
