package dataplane

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// at is an instant of the tests, in seconds.
func at(seconds int) time.Time { return time.Unix(1000+int64(seconds), 0) }

// told is a configuration with routes of a listener http, before a backend s.
func told(endpoints string, rules ...config.Rule) *config.Snapshot {
	s := &config.Snapshot{Listeners: []config.Listener{{Name: "http", Port: 80, Rules: rules}}, Backends: map[string]config.Backend{}}
	b := config.Backend{}
	for _, e := range strings.Fields(endpoints) {
		b.Endpoints = append(b.Endpoints, netip.MustParseAddrPort(e))
	}
	s.Backends["s"] = b
	return s
}

func named(name string, generation int64) config.Rule {
	return config.Rule{Route: name, Generation: generation, Backends: []config.Weighted{{Backend: "s", Weight: 1}}}
}

func routesAt(k *keeper, now time.Time) string {
	s, _ := k.at(now)
	return strings.Join(slices.Sorted(maps.Keys(s.Routes())), " ")
}

func TestAKeeperWithoutFaultsHandsOn(t *testing.T) {
	var k keeper
	for i, s := range []*config.Snapshot{told("10.0.0.1:80", named("a", 1)), told("", named("a", 2)), told("")} {
		k.got(s, fault.Faults{}, at(i))
		if got, until := k.at(at(i)); got != s || !until.IsZero() {
			t.Errorf("configuration %d is handed on as another, until %s", i, until)
		}
	}
}

func TestKeepsDeleted(t *testing.T) {
	var k keeper
	f := fault.Faults{KeepsDeleted: 10 * time.Second}
	k.got(told("", named("a", 1), named("b", 1), named("b", 1)), f, at(0))
	first := told("", named("a", 1))
	k.got(first, f, at(1))
	k.got(told(""), f, at(5))
	if len(first.Listeners[0].Rules) != 1 {
		t.Error("a configuration that others share was changed")
	}
	for now, want := range map[int]string{5: "a b", 10: "a b"} {
		if got := routesAt(&k, at(now)); got != want {
			t.Errorf("at %d s are served %q, want %q", now, got, want)
		}
	}
	s, until := k.at(at(10))
	if len(s.Listeners[0].Rules) != 3 || until != at(11) {
		t.Errorf("%d rules until %s, want 3 until %s", len(s.Listeners[0].Rules), until, at(11))
	}
	if got := routesAt(&k, at(11)); got != "a" {
		t.Errorf("at 11 s are served %q", got)
	}
	k.got(told("", named("a", 2)), f, at(12)) // it comes again
	if s, _ := k.at(at(12)); len(s.Listeners[0].Rules) != 1 || s.Routes()["a"] != 2 {
		t.Errorf("a route that came again: %v", s.Routes())
	}
	if _, until := k.at(at(15)); !until.IsZero() {
		t.Errorf("something is kept until %s", until)
	}
}

func TestStaleEndpoint(t *testing.T) {
	var k keeper
	f := fault.Faults{StaleEndpoint: 10 * time.Second}
	k.got(told("10.0.0.1:80 10.0.0.2:80", named("a", 1)), f, at(0))
	k.got(told("10.0.0.2:80 10.0.0.3:80", named("a", 1)), f, at(1))
	for _, c := range []struct {
		now  int
		want string
	}{
		{1, "[10.0.0.2:80 10.0.0.3:80 10.0.0.1:80]"},
		{10, "[10.0.0.2:80 10.0.0.3:80 10.0.0.1:80]"},
		{11, "[10.0.0.2:80 10.0.0.3:80]"},
	} {
		s, _ := k.at(at(c.now))
		if got := fmt.Sprint(s.Backends["s"].Endpoints); got != c.want {
			t.Errorf("at %d s: %s, want %s", c.now, got, c.want)
		}
	}
}

func TestCertificateLate(t *testing.T) {
	secure := func(certificate string) *config.Snapshot {
		return &config.Snapshot{Listeners: []config.Listener{{Name: "https", TLS: true, Certificates: []config.Certificate{{Chain: []byte(certificate)}}}}}
	}
	var k keeper
	f := fault.Faults{CertificateLate: 10 * time.Second}
	k.got(secure("old"), f, at(0))
	k.got(secure("new"), f, at(1))
	other := secure("new") // another change
	other.Listeners[0].Rules = []config.Rule{named("a", 1)}
	k.got(other, f, at(5))
	for _, c := range []struct {
		now  int
		want string
	}{{1, "old"}, {10, "old"}, {11, "new"}} {
		s, _ := k.at(at(c.now))
		if got := string(s.Listeners[0].Certificates[0].Chain); got != c.want {
			t.Errorf("at %d s: the %s one, want the %s one", c.now, got, c.want)
		}
	}
}

func TestReadyEarly(t *testing.T) {
	var k keeper
	f := fault.Faults{ReadyEarly: 10 * time.Second}
	k.got(told("", named("a", 1)), f, at(0))
	k.got(told("", named("a", 1), named("b", 1)), f, at(5))
	if got := routesAt(&k, at(9)); got != "" {
		t.Errorf("at first are served %q", got)
	}
	if got := routesAt(&k, at(10)); got != "a b" {
		t.Errorf("then are served %q", got)
	}
	k.got(told("", named("a", 1)), f, at(11))
	if got := routesAt(&k, at(11)); got != "a" {
		t.Errorf("later are served %q", got)
	}
}

func TestIgnoresUpdate(t *testing.T) {
	old := named("a", 1)
	old.Hostnames, old.Matches = []string{"old.test"}, []gatewayv1.HTTPRouteMatch{{Method: ptr.To(gatewayv1.HTTPMethodGet)}}
	old.Filters = []gatewayv1.HTTPRouteFilter{{Type: gatewayv1.HTTPRouteFilterCORS}}
	changed := config.Rule{Route: "a", Generation: 2, Hostnames: []string{"new.test"}, Backends: []config.Weighted{{Backend: "other", Weight: 7}}}
	show := func(s *config.Snapshot) string {
		r := s.Listeners[0].Rules[0]
		return fmt.Sprintf("%d %s %d matches %d filters %s*%d", r.Generation, r.Hostnames[0], len(r.Matches), len(r.Filters), r.Backends[0].Backend, r.Backends[0].Weight)
	}
	for kind, want := range map[string]string{
		"":        "2 new.test 0 matches 0 filters other*7",
		"header":  "1 new.test 0 matches 1 filters other*7",
		"match":   "1 new.test 1 matches 0 filters other*7",
		"host":    "1 old.test 0 matches 0 filters other*7",
		"weight":  "1 new.test 0 matches 0 filters other*1",
		"backend": "1 new.test 0 matches 0 filters s*1",
	} {
		var k keeper
		f := fault.Faults{IgnoresUpdate: kind}
		k.got(told("", old), f, at(0))
		update := told("", changed)
		delete(update.Backends, "s")
		for i := range 2 { // it stays so
			k.got(update, f, at(i))
			s, _ := k.at(at(i))
			if got := show(s); got != want {
				t.Errorf("%s ignored, time %d: %s, want %s", kind, i, got, want)
			}
			if _, ok := s.Backends[s.Listeners[0].Rules[0].Backends[0].Backend]; kind == "backend" && !ok {
				t.Error("the old backend is not there")
			}
		}
		if update.Listeners[0].Rules[0].Backends[0].Weight != 7 {
			t.Error("a configuration that others share was changed")
		}
	}
	if got, want := slices.Sorted(maps.Keys(updates)), fault.Updates; !slices.Equal(got, want) {
		t.Errorf("kinds are %v, and faults name %v", got, want)
	}
}

// TestAReplicaLetsGo: what is kept goes in its time.
func TestAReplicaLetsGo(t *testing.T) {
	const kept = 50 * time.Millisecond
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{KeepsDeleted: kept})
	began := time.Now()
	b.publish(b.backends, plain(hosted(1, "a")))
	for {
		force := b.replica.Force()
		if _, ok := force.Routes["n/b"]; !ok {
			if gone := force.Since.Sub(began); gone < kept {
				t.Errorf("gone after %s, want at least %s", gone, kept)
			}
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("it is kept for ever")
		}
		time.Sleep(time.Millisecond)
	}
	b.expect("b.test", "/", 404)
	b.expect("a.test", "/", 200)
}
