package dataplane

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"time"
)

// errTimeout is why a request or an attempt was given up.
var errTimeout = errors.New("timeout")

// handler serves one port of the replica.
func (r *Replica) handler(number int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if r.draining.Load() && request.Header.Get("Upgrade") == "" {
			// Its client goes elsewhere with the next request, before the port closes.
			w.Header().Set("Connection", "close")
		}
		r.receive(&call{r, w, request, newQuery(request)}, number)
	})
}

// A call is a request with what answers it.
type call struct {
	replica *Replica
	w       http.ResponseWriter
	request *http.Request
	asked   *query
}

var _ visit = (*call)(nil)

func (c *call) context() context.Context { return c.request.Context() }
func (c *call) query() *query            { return c.asked }
func (c *call) refuse(status int)        { say(c.w, c.request, status) }
func (c *call) reset()                   { reset(c.w) }
func (c *call) hold()                    { <-c.request.Context().Done() }

// misdirected: the client took the connection for one that serves this host
// too.
func (c *call) misdirected(p *port, l *listener) bool {
	return c.request.TLS != nil && p.listener(hostOf(c.request.TLS.ServerName)) != l
}

// apply implements visit.
func (c *call) apply(p *port, rule *rule) {
	r, w, request := c.replica, c.w, c.request
	if rule.filters.cors != nil && preflight(request) {
		rule.filters.cors.answer(w, request)
		return
	}
	if rule.filters.redirect != nil {
		location, err := rule.filters.location(request, p.number)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		status := http.StatusFound
		if code := rule.filters.redirect.StatusCode; code != nil {
			status = *code
		}
		w.Header().Set("Location", location)
		rule.filters.changeResponse(w.Header())
		w.WriteHeader(status)
		return
	}
	to := rule.backends.next()
	switch {
	case to == nil || to.backend == nil:
		r.refuse(w, request, rule, http.StatusInternalServerError)
	case len(to.backend.Endpoints) == 0:
		r.refuse(w, request, rule, http.StatusServiceUnavailable)
	default:
		r.forward(w, request, rule, to)
	}
}

// refuse answers instead of a backend.
func (r *Replica) refuse(w http.ResponseWriter, request *http.Request, rule *rule, status int) {
	rule.answered(w.Header(), request, nil)
	say(w, request, status)
}

// answered changes the header of an answer, whoever gave it.
func (rule *rule) answered(header http.Header, request *http.Request, to *target) {
	if to != nil {
		to.filters.changeResponse(header)
	}
	rule.filters.changeResponse(header)
	if rule.filters.cors != nil {
		rule.filters.cors.grant(header, request)
	}
}

// forward sends a request to a backend, and its answer back.
func (r *Replica) forward(w http.ResponseWriter, request *http.Request, rule *rule, to *target) {
	ctx, cancel := context.WithCancelCause(request.Context())
	defer cancel(nil)
	limit := after(rule.request, func() { cancel(errTimeout) })
	defer limit.Stop()
	var changed error
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = "http", "backend" // an attempt names the endpoint
			p.Out.URL.RawQuery = p.In.URL.RawQuery
			p.SetXForwarded()
			changed = errors.Join(rule.filters.changeRequest(p.Out), to.filters.changeRequest(p.Out))
		},
		Transport: attempts{replica: r, rule: rule, to: to, changed: &changed},
		ModifyResponse: func(response *http.Response) error {
			if response.StatusCode == http.StatusSwitchingProtocols {
				limit.Stop() // what follows is no request any more
			}
			rule.answered(response.Header, request, to)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, request *http.Request, err error) {
			rule.answered(w.Header(), request, to)
			say(w, request, statusOf(ctx, err))
		},
		FlushInterval: -1, // what a backend streams is passed on as it comes
		ErrorLog:      quiet,
	}
	proxy.ServeHTTP(w, request.WithContext(ctx))
}

func statusOf(ctx context.Context, err error) int {
	if errors.Is(err, errTimeout) || errors.Is(context.Cause(ctx), errTimeout) {
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// after calls f once d has passed; a d of 0 is for ever.
func after(d time.Duration, f func()) *time.Timer {
	if d > 0 {
		return time.AfterFunc(d, f)
	}
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}
