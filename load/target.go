package load

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// A Target is what requests are made of. Braces in URL, Host and Body make many
// requests out of one target, which take turns: {0..49} stands for the numbers
// from 0 to 49, {a,b} for a and b, and several of them for each combination.
// Number stands for the request's number.
type Target struct {
	// URL has the scheme http, https, ws or wss.
	URL string `json:"url"`
	// Connect is the address, host:port, to connect to in place of the URL's.
	Connect string `json:"connect,omitempty"`
	// Method is GET by default, or POST where there is a body.
	Method string `json:"method,omitempty"`
	// Host takes the place of the URL's host in the request, and, without its
	// port, in TLS's server name.
	Host   string  `json:"host,omitempty"`
	Header []Field `json:"header,omitempty"`
	Body   []byte  `json:"body,omitempty"`
	Expect Expect  `json:"expect"`
	// Weight is how often the target comes up, relative to the others. 0 is 1.
	Weight int `json:"weight,omitempty"`
}

// A Field is one header field.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ParseTargets reads a JSON list of targets. It takes no field that it does not
// know. Bodies are base64, as JSON has bytes; Expect's Body is -1 where it is
// not given.
func ParseTargets(text []byte) ([]Target, error) {
	var raw []json.RawMessage
	if err := strictly(text, &raw); err != nil {
		return nil, err
	}
	var problems []error
	targets := make([]Target, len(raw))
	for i := range raw {
		targets[i].Expect.Body = -1
		if err := strictly(raw[i], &targets[i]); err != nil {
			problems = append(problems, fmt.Errorf("target %d: %w", i+1, err))
		}
	}
	return targets, errors.Join(problems...)
}

func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more behind it")
	}
	return nil
}

// An endpoint is where connections go.
type endpoint struct {
	// address is host:port, and addresses what it resolves to.
	address   string
	addresses []netip.AddrPort
	// serverName is TLS's, or empty for a plain connection.
	serverName string
	secure     bool
	// upgrade is the host and path that a WebSocket connection is opened for:
	// all its messages go there. It is empty for other protocols.
	upgrade string
}

// maxRequests bounds how many requests templates may make.
const maxRequests = 1_000_000

// expand replaces the braces of a text by each of the things they stand for.
func expand(text string) ([]string, error) {
	open := strings.IndexByte(text, '{')
	if strings.HasPrefix(text[max(open, 0):], Number) {
		tails, err := expand(text[open+len(Number):])
		return joined(text[:open], []string{Number}, tails), err
	}
	if open < 0 {
		return []string{text}, nil
	}
	end := strings.IndexByte(text[open:], '}')
	if end < 0 {
		return nil, fmt.Errorf("%q: { without }", text)
	}
	middle, err := alternatives(text[open+1 : open+end])
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	tails, err := expand(text[open+end+1:])
	if err != nil {
		return nil, err
	}
	if len(middle)*len(tails) > maxRequests {
		return nil, fmt.Errorf("%q stands for more than %d requests", text, maxRequests)
	}
	return joined(text[:open], middle, tails), nil
}

func joined(before string, middle, tails []string) []string {
	out := make([]string, 0, len(middle)*len(tails))
	for _, m := range middle {
		for _, t := range tails {
			out = append(out, before+m+t)
		}
	}
	return out
}

func alternatives(inner string) ([]string, error) {
	low, high, isRange := strings.Cut(inner, "..")
	if !isRange {
		return strings.Split(inner, ","), nil
	}
	from, err1 := strconv.Atoi(low)
	to, err2 := strconv.Atoi(high)
	if err1 != nil || err2 != nil || from > to || to-from >= maxRequests {
		return nil, fmt.Errorf("{%s} is not a range such as {0..49}", inner)
	}
	var out []string
	for i := from; i <= to; i++ {
		// As many digits as the lower bound is written with: {00..49}.
		out = append(out, fmt.Sprintf("%0*d", len(low), i))
	}
	return out, nil
}

// requests renders all that the target stands for. Their endpoints are still
// to be set; where lists them.
func (t *Target) requests(protocol Protocol) (requests []*Request, where []endpoint, err error) {
	urls, err := expand(t.URL)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := expand(t.Host)
	if err != nil {
		return nil, nil, err
	}
	for _, u := range urls {
		for _, h := range hosts {
			r, e, err := t.request(u, h, protocol)
			if err != nil {
				return nil, nil, err
			}
			requests, where = append(requests, r), append(where, e)
		}
	}
	return requests, where, nil
}

var defaultPorts = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}

func (t *Target) request(rawURL, host string, protocol Protocol) (*Request, endpoint, error) {
	// The mark is no part of any URL, and the number's place must survive.
	u, err := url.Parse(strings.ReplaceAll(rawURL, Number, numberInURL))
	if err != nil {
		return nil, endpoint{}, fmt.Errorf("target: %w", err)
	}
	port := defaultPorts[u.Scheme]
	if port == "" || u.Hostname() == "" {
		return nil, endpoint{}, fmt.Errorf("target %q: want http://host/path, or https, ws, wss", rawURL)
	}
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	e := endpoint{address: cmp.Or(t.Connect, address), secure: u.Scheme == "https" || u.Scheme == "wss"}
	authority := cmp.Or(host, u.Host)
	if e.secure {
		e.serverName = hostOnly(authority)
	}
	mark := func(s string) string { return strings.ReplaceAll(s, Number, string(numberMark)) }
	r := &Request{
		scheme: "http", authority: authority, expect: t.Expect,
		method: t.Method,
		path:   strings.ReplaceAll(u.RequestURI(), numberInURL, string(numberMark)),
		body:   bytes.ReplaceAll(t.Body, []byte(Number), numberMark),
	}
	if e.secure {
		r.scheme = "https"
	}
	if r.method == "" {
		r.method = "GET"
		if len(r.body) > 0 || protocol == GRPC {
			r.method = "POST"
		}
	}
	r.head = r.method == "HEAD"
	if protocol == WebSocket {
		e.upgrade = authority + r.path
		if r.expect.Status == 0 {
			r.expect.Status = 101
		}
	}
	for _, f := range t.Header {
		value := mark(f.Value)
		r.header = append(r.header, headerField{strings.ToLower(f.Name), value, value != f.Value})
	}
	return r, e, t.checkFields(r)
}

// numberInURL stands for Number while a URL is taken apart.
const numberInURL = "gatemark-number-goes-here"

func hostOnly(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return host
	}
	return strings.Trim(authority, "[]")
}

// reserved are fields that the engine writes by itself.
var reserved = map[string]bool{"host": true, "content-length": true, "transfer-encoding": true, "connection": true}

func (t *Target) checkFields(r *Request) error {
	var problems []error
	if tokenLength([]byte(r.method)) != len(r.method) {
		problems = append(problems, fmt.Errorf("target %q: method %q is not a token", t.URL, r.method))
	}
	for _, f := range r.header {
		value := strings.ReplaceAll(f.value, string(numberMark), "")
		switch {
		case f.name == "" || tokenLength([]byte(f.name)) != len(f.name) || !isText([]byte(value)):
			problems = append(problems, fmt.Errorf("target %q: header field %q: %q is malformed", t.URL, f.name, value))
		case reserved[f.name]:
			problems = append(problems, fmt.Errorf("target %q: header field %q is written by the engine", t.URL, f.name))
		}
	}
	return errors.Join(problems...)
}
