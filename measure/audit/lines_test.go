package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A script writes an audit log as an API server would.
type script struct {
	t       *testing.T
	now     time.Time
	version int
	refs    []any // the parents that routes name from now on
	lines   []string
}

func newScript(t *testing.T) *script { return &script{t: t, now: begin, version: 1000} }

// Users of the API, in short.
const (
	eg      = "system:serviceaccount:envoy-gateway-system:envoy-gateway"
	traefik = "system:serviceaccount:traefik-system:traefik"
	nginx   = "system:serviceaccount:nginx-system:nginx-nginx-gateway-fabric"
	istio   = "system:serviceaccount:istio-system:istiod"

	egName      = "gateway.envoyproxy.io/gatewayclass-controller"
	traefikName = "traefik.io/gateway-controller"
	nginxName   = "gateway.nginx.org/nginx-gateway-controller"
	istioName   = "istio.io/gateway-controller"
)

// A parent is an entry of a route's status, in short.
type parent struct {
	Controller, Gateway string
	Observed            int64
	Reason              string
}

func (p parent) object() map[string]any {
	reason := p.Reason
	if reason == "" {
		reason = "Accepted"
	}
	return map[string]any{
		"controllerName": p.Controller,
		"parentRef":      map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": p.Gateway},
		"conditions": []any{map[string]any{
			"type": "Accepted", "status": "True", "reason": reason, "message": "Route is accepted",
			"observedGeneration": p.Observed, "lastTransitionTime": "2026-03-01T12:00:00Z",
		}},
	}
}

func parents(all ...parent) map[string]any {
	list := []any{}
	for _, p := range all {
		if p.Observed == 0 {
			p.Observed = 1
		}
		list = append(list, p.object())
	}
	return map[string]any{"parents": list}
}

func (s *script) event(user, verb, resource, name, subresource string, code int) map[string]any {
	s.now = s.now.Add(10 * time.Millisecond)
	uri := "/apis/gateway.networking.k8s.io/v1/namespaces/demo/" + resource + "/" + name
	return map[string]any{
		"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": fmt.Sprintf("id-%d", len(s.lines)),
		"stage": "ResponseComplete", "requestURI": uri, "verb": verb,
		"user":      map[string]any{"username": user, "uid": "u", "groups": []string{"system:authenticated"}},
		"sourceIPs": []string{"10.0.0.9"}, "userAgent": strings.ToLower(user[strings.LastIndex(user, ":")+1:]) + "/v1 (linux/amd64)",
		"objectRef": map[string]any{
			"resource": resource, "namespace": "demo", "name": name,
			"apiGroup": "gateway.networking.k8s.io", "apiVersion": "v1", "subresource": subresource,
		},
		"responseStatus":           map[string]any{"metadata": map[string]any{}, "code": code},
		"requestReceivedTimestamp": s.now.Format("2006-01-02T15:04:05.000000Z"),
		"stageTimestamp":           s.now.Add(2 * time.Millisecond).Format("2006-01-02T15:04:05.000000Z"),
		"annotations":              map[string]any{"authorization.k8s.io/decision": "allow"},
	}
}

func (s *script) put(e map[string]any) {
	line, err := json.Marshal(e)
	if err != nil {
		s.t.Fatal(err)
	}
	s.lines = append(s.lines, string(line))
}

// create is a route that a test's user makes.
func (s *script) create(name string) {
	s.put(s.event("kubernetes-admin", "create", "httproutes", name, "", 201))
}

// status is an accepted write at a generation of the object.
func (s *script) status(user, resource, name string, generation int64, status map[string]any) {
	s.version++
	e := s.event(user, "update", resource, name, "status", 200)
	e["level"] = "RequestResponse"
	e["objectRef"].(map[string]any)["resourceVersion"] = fmt.Sprint(s.version - 1)
	object := map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{
			"name": name, "namespace": "demo", "uid": "uid-" + name, "generation": generation,
			"resourceVersion": fmt.Sprint(s.version), "creationTimestamp": begin.Format(time.RFC3339),
		},
		"spec": map[string]any{"hostnames": []string{"a.example.com"}, "parentRefs": s.refs}, "status": status,
	}
	e["requestObject"], e["responseObject"] = object, object
	s.put(e)
}

func (s *script) route(user, name string, all ...parent) {
	s.status(user, "httproutes", name, 1, parents(all...))
}

// again repeats the last write: accepted, and nothing changed by it.
func (s *script) again() {
	var e map[string]any
	if err := json.Unmarshal([]byte(s.lines[len(s.lines)-1]), &e); err != nil {
		s.t.Fatal(err)
	}
	e["objectRef"].(map[string]any)["resourceVersion"] = fmt.Sprint(s.version)
	s.put(e)
}

func (s *script) conflict(user, name string) {
	e := s.event(user, "update", "httproutes", name, "status", 409)
	e["responseObject"] = map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "reason": "Conflict", "code": 409}
	s.put(e)
}

func (s *script) report(o Options) Report {
	s.t.Helper()
	if o.Since.IsZero() {
		o.Since = begin
	}
	if o.Until.IsZero() {
		o.Until = s.now
	}
	o.defaults()
	r := newReader(o)
	for _, line := range s.lines {
		r.line([]byte(line + "\n"))
	}
	report := r.report()
	if report.Malformed != 0 {
		s.t.Errorf("%d lines were not understood", report.Malformed)
	}
	return report
}

func find(r Report, kind ProblemKind, writer, other string) *Problem {
	for _, p := range r.Problems {
		if p.Kind == kind && p.Writer == writer && p.Other == other {
			return &p
		}
	}
	return nil
}
