package dataplane

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// cors answers preflight requests, and tells browsers who may read answers.
type cors struct {
	origins                  []*regexp.Regexp
	methods, headers, expose []string
	credentials              bool
	maxAge                   int32
}

const defaultMaxAge = 5 // s, as the Gateway API has it

func newCORS(from *gatewayv1.HTTPCORSFilter) *cors {
	c := &cors{credentials: ptr.Deref(from.AllowCredentials, false), maxAge: from.MaxAge}
	if c.maxAge == 0 {
		c.maxAge = defaultMaxAge
	}
	for _, o := range from.AllowOrigins {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(string(o)), `\*`, `.*`)
		c.origins = append(c.origins, regexp.MustCompile("^"+pattern+"$"))
	}
	for _, m := range from.AllowMethods {
		c.methods = append(c.methods, string(m))
	}
	for _, h := range from.AllowHeaders {
		c.headers = append(c.headers, string(h))
	}
	for _, h := range from.ExposeHeaders {
		c.expose = append(c.expose, string(h))
	}
	return c
}

// origin is the request's, where it is allowed.
func (c *cors) origin(r *http.Request) string {
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.ContainsFunc(c.origins, func(o *regexp.Regexp) bool { return o.MatchString(origin) }) {
		return ""
	}
	return origin
}

const (
	requestMethod  = "Access-Control-Request-Method"
	requestHeaders = "Access-Control-Request-Headers"
)

func preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get(requestMethod) != ""
}

// answer answers a preflight request. Whoever is not allowed is not told.
func (c *cors) answer(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if c.grant(h, r) {
		c.list(h, "Access-Control-Allow-Methods", c.methods, r.Header.Get(requestMethod))
		c.list(h, "Access-Control-Allow-Headers", c.headers, r.Header.Get(requestHeaders))
		h.Set("Access-Control-Max-Age", strconv.Itoa(int(c.maxAge)))
	}
	w.WriteHeader(http.StatusOK)
}

// grant sets what every answer has, and tells whether the origin is allowed.
func (c *cors) grant(h http.Header, r *http.Request) bool {
	for name := range h { // what a backend says about it is not ours
		if strings.HasPrefix(name, "Access-Control-") {
			h.Del(name)
		}
	}
	h.Add("Vary", "Origin")
	origin := c.origin(r)
	if origin == "" {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if c.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if !c.credentials || !slices.Contains(c.expose, "*") {
		c.list(h, "Access-Control-Expose-Headers", c.expose, "")
	}
	return true
}

// list sets what is allowed. With credentials "*" has no meaning to browsers:
// what was asked for stands in its place.
func (c *cors) list(h http.Header, name string, allowed []string, asked string) {
	value := strings.Join(allowed, ", ")
	if slices.Contains(allowed, "*") {
		value = "*"
		if c.credentials {
			value = asked
		}
	}
	if value != "" {
		h.Set(name, value)
	}
}
