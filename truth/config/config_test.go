package config

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestIntersect(t *testing.T) {
	for _, c := range []struct {
		listener string
		route    []string
		want     []string
		ok       bool
	}{
		{"", nil, nil, true},
		{"a.example", nil, []string{"a.example"}, true},
		{"", []string{"a.example", "*.example"}, []string{"a.example", "*.example"}, true},
		{"a.example", []string{"b.example"}, nil, false},
		{"a.example", []string{"a.example"}, []string{"a.example"}, true},
		{"*.example", []string{"a.example", "a.other", "b.a.example"}, []string{"a.example", "b.a.example"}, true},
		{"*.example", []string{"example"}, nil, false},
		{"a.example", []string{"*.example"}, []string{"a.example"}, true},
		{"example", []string{"*.example"}, nil, false},
		{"*.example", []string{"*.a.example"}, []string{"*.a.example"}, true},
		{"*.a.example", []string{"*.example"}, []string{"*.a.example"}, true},
		{"*.example", []string{"*.example"}, []string{"*.example"}, true},
		{"*.a.example", []string{"*.b.example"}, nil, false},
		{"*.a.example", []string{"*.ba.example"}, nil, false},
	} {
		got, ok := Intersect(c.listener, c.route)
		if ok != c.ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q and %q: got %q, %t, want %q, %t", c.listener, c.route, got, ok, c.want, c.ok)
		}
	}
}

func TestMatchHost(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		want          bool
	}{
		{"", "a", true}, {"a.b", "a.b", true}, {"a.b", "b", false},
		{"*.b", "a.b", true}, {"*.b", "c.a.b", true}, {"*.b", "b", false}, {"*.b", ".b", false}, {"*.b", "ab", false},
	} {
		if got := MatchHost(c.pattern, c.host); got != c.want {
			t.Errorf("%q matches %q: %t", c.pattern, c.host, got)
		}
	}
}

func TestMoreSpecific(t *testing.T) {
	order := []string{"a.b.c", "b.c", "*.a.b.c", "*.b.c", ""}
	for i, a := range order {
		for j, b := range order {
			if got := MoreSpecific(a, b); got != (i < j) {
				t.Errorf("%q before %q: %t", a, b, got)
			}
		}
	}
}

func TestServingPortsAreDistinct(t *testing.T) {
	seen := map[int32]int32{AdminPort: 0}
	for port := int32(1); port <= LastPort; port++ {
		at := ServingPort(port)
		if other, taken := seen[at]; taken || at < lowPorts || at > 65535 {
			t.Fatalf("port %d is served on %d, as is %d", port, at, other)
		}
		seen[at] = port
	}
}

func TestRoutes(t *testing.T) {
	s := &Snapshot{Listeners: []Listener{
		{Rules: []Rule{{Route: "a/r", Generation: 2}, {Route: "a/r", Generation: 2}, {Route: "a/q", Generation: 1}}},
		{Rules: []Rule{{Route: "a/r", Generation: 2}}},
	}}
	if got, want := s.Routes(), map[string]int64{"a/r": 2, "a/q": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := new(Snapshot).Routes(); len(got) != 0 {
		t.Errorf("of none: %v", got)
	}
}

func TestSnapshotTravels(t *testing.T) {
	want := &Snapshot{Gateway: "a/b", Version: 7,
		Listeners: []Listener{{Name: "http", Port: 80, Rules: []Rule{{
			Route: "a/r", Generation: 3, Hostnames: []string{"x"},
			Matches:  []gatewayv1.HTTPRouteMatch{{Method: ptr.To(gatewayv1.HTTPMethodGet)}},
			Backends: []Weighted{{Backend: "a/s:80", Weight: 1}},
		}}}},
		Backends: map[string]Backend{"a/s:80": {Endpoints: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:80")}}},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := new(Snapshot)
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || !got.Same(want) {
		t.Errorf("it became %s", text)
	}
	got.Version = 8
	if !got.Same(want) {
		t.Error("another version alone is a change")
	}
	got.Backends["a/s:80"] = Backend{}
	if got.Same(want) {
		t.Error("another endpoint is no change")
	}
}
