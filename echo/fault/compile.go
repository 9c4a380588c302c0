package fault

import (
	"strconv"
	"strings"
	"time"
)

// DefaultHealthPath is where the health endpoint is.
const DefaultHealthPath = "/health"

// Compile checks Faults and puts them in force, from now on; cycles begin. The
// error joins every problem. Totals are counted up by what the Set decides.
func Compile(f Faults, totals *Totals) (*Set, error) {
	s := &Set{since: time.Now(), totals: totals, replaced: make(chan struct{})}
	var p problems
	s.compileHealth(&f.Health, &p)
	rules := make([]Rule, len(f.Rules))
	copy(rules, f.Rules) // the caller's stay as they are
	for i := range rules {
		r := compileRule(&rules[i], at("rules", i), s.since, &p)
		if r.kind == RefuseKind {
			s.refusals = append(s.refusals, r)
		} else {
			s.rules = append(s.rules, r)
		}
	}
	f.Rules = rules
	s.faults = f
	s.quiet = len(s.rules) == 0
	return s, p.join()
}

func (s *Set) compileHealth(h *Health, p *problems) {
	switch {
	case h.Path == "":
		h.Path = DefaultHealthPath
	case h.Path != "none" && !strings.HasPrefix(h.Path, "/"):
		p.add("health.path", "%q does not begin with / and is not none", h.Path)
	}
	if h.Path != "none" {
		s.healthPath = []byte(h.Path)
	}
	if h.Status == 0 {
		h.Status = 200
	}
	checkStatus("health.status", h.Status, p)
	if h.Delay != nil {
		s.healthWait = h.Delay.sampler("health.delay", p)
	}
}

func checkStatus(field string, code int, p *problems) {
	if code < 200 || code > 599 {
		p.add(field, "%d is not a status from 200 to 599", code)
	}
}

func compileRule(r *Rule, field string, since time.Time, p *problems) *rule {
	out := &rule{Rule: r, path: []byte(r.Match.Path), host: []byte(r.Match.Host), route: []byte(r.Match.Route)}
	out.kind = r.kind(field, p)
	if r.Name == "" {
		r.Name = out.kind.String()
	}
	out.phases = r.Cycle.phases(field+".cycle", since, p)
	r.check(field, p)
	// Where a default is filled in it is into a copy: the caller's stays.
	switch out.kind {
	case DelayKind:
		out.wait = r.Delay.sampler(field+".delay", p)
	case StatusKind:
		out.compileStatus(field+".status", p)
	case TrickleKind:
		out.interval = p.duration(field+".trickle.interval", r.Trickle.Interval)
		if r.Trickle.Bytes < 1 {
			p.add(field+".trickle.bytes", "%d is less than 1", r.Trickle.Bytes)
		}
	case ResetKind:
		r.Reset = &Reset{oneOf(field+".reset.at", r.Reset.At, p, "start", "middle")}
	case RefuseKind:
		r.Refuse = &Refuse{oneOf(field+".refuse.open", r.Refuse.Open, p, "keep", "reset")}
	}
	return out
}

// kind returns the one kind that is set.
func (r *Rule) kind(field string, p *problems) Kind {
	set := [kinds]bool{
		DelayKind: r.Delay != nil, StallKind: r.Stall != nil, StatusKind: r.Status != nil, ResetKind: r.Reset != nil,
		CloseKind: r.Close != nil, HangKind: r.Hang != nil, TrickleKind: r.Trickle != nil, GarbageKind: r.Garbage != nil,
		RefuseKind: r.Refuse != nil,
	}
	found, n := None, 0
	for k, ok := range set {
		if ok {
			found = Kind(k)
			n++
		}
	}
	if n != 1 {
		p.add(field, "has %d kinds of fault, want one of %s", n, strings.Join(kindNames[1:], ", "))
		return None
	}
	return found
}

func (r *Rule) check(field string, p *problems) {
	if r.Every < 0 {
		p.add(field+".every", "%d is negative", r.Every)
	}
	if !(r.Ratio >= 0 && r.Ratio <= 1) {
		p.add(field+".ratio", "%v is not from 0 to 1", r.Ratio)
	}
	if r.Every != 0 && r.Ratio != 0 {
		p.add(field, "has both every and ratio")
	}
	if r.Match.Path != "" && !strings.HasPrefix(r.Match.Path, "/") {
		p.add(field+".match.path", "%q does not begin with /", r.Match.Path)
	}
	if r.Refuse != nil && (r.Match != Match{} || r.Every != 0 || r.Ratio != 0) {
		p.add(field, "refuses whole connections: it can have no match, every or ratio")
	}
}

func (r *rule) compileStatus(field string, p *problems) {
	checkStatus(field+".code", r.Status.Code, p)
	// Whole seconds are all that the header field can say.
	if wait := p.duration(field+".retryAfter", r.Status.RetryAfter); wait%time.Second != 0 {
		p.add(field+".retryAfter", "%s is not in whole seconds", r.Status.RetryAfter)
	} else if r.Status.RetryAfter != "" {
		r.retryAfter = strconv.Itoa(int(wait / time.Second))
	}
	if r.Status.GRPC == 0 {
		status := *r.Status
		status.GRPC = 14
		r.Status = &status
	}
	if r.Status.GRPC < 0 || r.Status.GRPC > 16 {
		p.add(field+".grpc", "%d is not a status from 1 to 16", r.Status.GRPC)
	}
}

func oneOf(field, value string, p *problems, allowed ...string) string {
	if value == "" {
		return allowed[0]
	}
	for _, a := range allowed {
		if value == a {
			return value
		}
	}
	p.add(field, "%q is not one of %s", value, strings.Join(allowed, ", "))
	return value
}
