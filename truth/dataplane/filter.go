package dataplane

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// filters are those of a rule or of one of its backends, in their order of
// work: CORS and a redirect answer, the others change.
type filters struct {
	request  []*gatewayv1.HTTPHeaderFilter
	response []*gatewayv1.HTTPHeaderFilter
	rewrite  *gatewayv1.HTTPURLRewriteFilter
	redirect *gatewayv1.HTTPRequestRedirectFilter
	cors     *cors
	prefixes []string // of the rule's matches, longest first
}

func compileFilters(from []gatewayv1.HTTPRouteFilter, matches []gatewayv1.HTTPRouteMatch) (filters, error) {
	f := filters{prefixes: prefixesOf(matches)}
	for i := range from {
		switch one := &from[i]; one.Type {
		case gatewayv1.HTTPRouteFilterRequestHeaderModifier:
			f.request = append(f.request, one.RequestHeaderModifier)
		case gatewayv1.HTTPRouteFilterResponseHeaderModifier:
			f.response = append(f.response, one.ResponseHeaderModifier)
		case gatewayv1.HTTPRouteFilterURLRewrite:
			f.rewrite = one.URLRewrite
		case gatewayv1.HTTPRouteFilterRequestRedirect:
			f.redirect = one.RequestRedirect
		case gatewayv1.HTTPRouteFilterCORS:
			f.cors = newCORS(one.CORS)
		default:
			return f, fmt.Errorf("filter %s is not supported", one.Type)
		}
	}
	return f, nil
}

// changeRequest does to an outbound request what the filters say.
func (f *filters) changeRequest(out *http.Request) error {
	for _, change := range f.request {
		modify(out.Header, change)
		if host := out.Header.Get("Host"); host != "" { // net/http keeps it elsewhere
			out.Host = host
			out.Header.Del("Host")
		}
	}
	if f.rewrite == nil {
		return nil
	}
	if f.rewrite.Hostname != nil {
		out.Host = string(*f.rewrite.Hostname)
	}
	return setPath(out.URL, f.replace(out.URL.EscapedPath(), f.rewrite.Path))
}

func (f *filters) changeResponse(header http.Header) {
	for _, change := range f.response {
		modify(header, change)
	}
}

func modify(header http.Header, change *gatewayv1.HTTPHeaderFilter) {
	for _, h := range change.Set {
		header.Set(string(h.Name), h.Value)
	}
	for _, h := range change.Add {
		header.Add(string(h.Name), h.Value)
	}
	for _, name := range change.Remove {
		header.Del(name)
	}
}

// replace changes an escaped path.
func (f *filters) replace(path string, change *gatewayv1.HTTPPathModifier) string {
	if change == nil {
		return path
	}
	if change.Type == gatewayv1.FullPathHTTPPathModifier {
		if full := ptr.Deref(change.ReplaceFullPath, ""); full != "" {
			return full
		}
		return "/"
	}
	for _, prefix := range f.prefixes {
		if !below(prefix, path) {
			continue
		}
		changed := strings.TrimSuffix(ptr.Deref(change.ReplacePrefixMatch, ""), "/") + path[len(prefix):]
		if changed == "" {
			return "/"
		}
		return changed
	}
	return path
}

// setPath sets a path that is escaped.
func setPath(u *url.URL, escaped string) error {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return fmt.Errorf("rewrite the path to %q: %w", escaped, err)
	}
	u.Path, u.RawPath = path, escaped
	return nil
}

var wellKnownPort = map[string]int32{"http": 80, "https": 443}

// location is where a redirect sends a request that came on a listener's port.
func (f *filters) location(r *http.Request, port int32) (string, error) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	if f.redirect.Scheme != nil {
		scheme = *f.redirect.Scheme
		if known, ok := wellKnownPort[scheme]; ok {
			port = known
		}
	}
	if f.redirect.Port != nil {
		port = *f.redirect.Port
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if f.redirect.Hostname != nil {
		host = string(*f.redirect.Hostname)
	}
	if port != wellKnownPort[scheme] {
		host = net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(int(port)))
	}
	to := url.URL{Scheme: scheme, Host: host, RawQuery: r.URL.RawQuery}
	if err := setPath(&to, f.replace(r.URL.EscapedPath(), f.redirect.Path)); err != nil {
		return "", err
	}
	return to.String(), nil
}
