package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// hosted is a route that has its name as its host and its backend.
func hosted(generation int64, name string) config.Rule {
	return config.Rule{Route: "n/" + name, Generation: generation, Hostnames: []string{name + ".test"}, Backends: to(name)}
}

// both publishes routes a and b, of a generation, before backends that say
// their names.
func (b *bench) both(generation int64) {
	b.t.Helper()
	if b.backends == nil {
		b.backends = map[string]config.Backend{"a": backendOf(b.t, says("a")), "b": backendOf(b.t, says("b"))}
	}
	b.publish(b.backends, plain(hosted(generation, "a"), hosted(generation, "b")))
}

// statuses asks so many times, and returns how often which status came.
func (b *bench) statuses(host string, n int) map[int]int {
	b.t.Helper()
	all := map[int]int{}
	for range n {
		status, _, _ := b.get(host, "/")
		all[status]++
	}
	return all
}

func (b *bench) expectInjected(want map[string]int64) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.replica.Injected()); diff != "" {
		b.t.Errorf("injected, -want +got\n%s", diff)
	}
}

func TestErrorEvery(t *testing.T) {
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{ErrorEvery: 4})
	if diff := cmp.Diff(map[int]int{200: 6, 503: 2}, b.statuses("a.test", 8)); diff != "" {
		t.Error(diff)
	}
	b.expectInjected(map[string]int64{"errorEvery": 2})
	if n := b.replica.Requests(); n != 8 {
		t.Errorf("%d requests, want 8", n)
	}
}

func TestDropEvery(t *testing.T) {
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{DropEvery: 2})
	for range 2 {
		b.expect("a.test", "/", 200)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if _, err := client.Do(b.request("POST", "a.test", "/", strings.NewReader("body"))); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("error %v, want a reset", err)
		}
	}
	b.expectInjected(map[string]int64{"dropEvery": 2})
}

func TestHangEvery(t *testing.T) {
	const hang = 50 * time.Millisecond
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{HangEvery: 2, HangFor: hang})
	for range 2 {
		b.expect("a.test", "/", 200)
		began := time.Now()
		b.expect("a.test", "/", 200)
		if took := time.Since(began); took < hang {
			t.Errorf("answered after %s, want at least %s", took, hang)
		}
	}
	b.expectInjected(map[string]int64{"hangEvery": 2})
}

func TestMisroute(t *testing.T) {
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{Misroute: 3})
	wrong := 0
	for range 9 {
		if _, text, _ := b.get("a.test", "/"); strings.HasPrefix(text, "b") {
			wrong++
		}
		b.expect("none.test", "/", 404) // no match, not counted
	}
	if wrong != 3 {
		t.Errorf("%d of 9 answers were of another route, want 3", wrong)
	}
	b.expectInjected(map[string]int64{"misroute": 3})
	b.publish(b.backends, plain(hosted(1, "a")))
	if diff := cmp.Diff(map[int]int{200: 3}, b.statuses("a.test", 3)); diff != "" {
		t.Errorf("without another route: %s", diff)
	}
	b.expectInjected(map[string]int64{"misroute": 3})
}

func TestErrorsOnChange(t *testing.T) {
	b := start(t)
	b.faults.Set(fault.Faults{ErrorsOnChange: time.Hour})
	b.both(1)
	b.expect("a.test", "/", 503)
	b.expect("none.test", "/", 404)
	b.faults.Set(fault.Faults{ErrorsOnChange: time.Nanosecond})
	b.expect("a.test", "/", 200)
	b.expectInjected(map[string]int64{"errorsOnChange": 1})
	b.publish(b.backends, plain(hosted(1, "a"), hosted(2, "b")))
	b.faults.Set(fault.Faults{ErrorsOnChange: time.Hour})
	b.expect("b.test", "/", 503)
	// A route that stays as it is goes on with its life.
	a, changed := b.replica.table.Load().lives["n/a"], b.replica.table.Load().lives["n/b"]
	if !a.began.Before(changed.began) {
		t.Errorf("an unchanged route began at %s, one that changed at %s", a.began, changed.began)
	}
}

func TestFlaps(t *testing.T) {
	b := start(t)
	b.faults.Set(fault.Faults{Flaps: time.Hour})
	b.both(1)
	b.expect("a.test", "/", 200)
	b.expect("a.test", "/", 404)
	b.expect("b.test", "/", 200) // each route in its time
	b.faults.Set(fault.Faults{Flaps: time.Nanosecond})
	b.expect("a.test", "/", 200)
	b.faults.Set(fault.Faults{Flaps: time.Hour})
	b.expect("a.test", "/", 200) // once only
	b.expectInjected(map[string]int64{"flaps": 1})

	changed := hosted(2, "a")
	changed.Backends = to("b")
	b.publish(b.backends, plain(changed))
	for _, want := range []string{"b", "a"} { // the new one first, then the old one
		if _, text, _ := b.get("a.test", "/"); !strings.HasPrefix(text, want) {
			t.Errorf("answer of %q, want %s", text, want)
		}
	}
}

func TestArrivals(t *testing.T) {
	const late = 50 * time.Millisecond
	b := start(t)
	took := func(f fault.Faults, publish func()) time.Duration {
		b.faults.Set(f)
		began := time.Now()
		publish()
		return b.replica.Force().Since.Sub(began)
	}
	b.publish(nil, plain())
	if d := took(fault.Faults{FirstRoute: late}, func() { b.both(1) }); d < late {
		t.Errorf("the first route is in force after %s, want at least %s", d, late)
	}
	b.faults.Set(fault.Faults{FirstRoute: time.Hour})
	b.both(2)
	b.publish(nil, plain())
	b.both(3) // the first again, but not of the Gateway
	if d := took(fault.Faults{Growth: late}, func() { b.both(4) }); d < 2*late {
		t.Errorf("two routes are in force after %s, want at least %s", d, 2*late)
	}
	if d := took(fault.Faults{StatusEarly: late}, func() { b.both(5) }); d < late {
		t.Errorf("a configuration is in force after %s, want at least %s", d, late)
	}
	if d := took(fault.Faults{Late: map[int]time.Duration{0: late, 1: time.Hour}}, func() { b.both(6) }); d < late {
		t.Errorf("replica 0 has it in force after %s, want at least %s", d, late)
	}
}

func TestDroppedStreams(t *testing.T) {
	b := start(t)
	b.both(1)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	defer transport.CloseIdleConnections()
	transport.Protocols.SetUnencryptedHTTP2(true)
	b.faults.Set(fault.Faults{DropEvery: 2})
	for _, good := range []bool{true, false, true} {
		response, err := transport.RoundTrip(b.request("GET", "a.test", "/", nil))
		if (err == nil) != good {
			t.Fatalf("error %v, want none: %t", err, good)
		}
		if err == nil {
			response.Body.Close()
		}
	}
}

func TestInjectedIsTold(t *testing.T) {
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{ErrorEvery: 1})
	b.expect("a.test", "/", 503)
	w := httptest.NewRecorder()
	b.replica.Admin().ServeHTTP(w, httptest.NewRequest("GET", "/injected", nil))
	text, err := io.ReadAll(w.Result().Body)
	if want := `{"requests":1,"injected":{"errorEvery":1}}`; err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("it tells %s, %v", text, err)
	}
}

// TestNamesInTallies: what is counted has the name of a fault.
func TestNamesInTallies(t *testing.T) {
	b := start(t)
	for _, f := range []fault.Faults{{ErrorEvery: 1}, {DropEvery: 1}, {HangEvery: 1, HangFor: 1}, {Misroute: 1}, {ErrorsOnChange: time.Hour}} {
		b.both(b.version + 1)
		b.faults.Set(f)
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = "a.test"
		func() {
			defer func() { _ = recover() }() // a recorder cannot be hijacked
			b.replica.handler(80).ServeHTTP(httptest.NewRecorder(), r)
		}()
		b.faults.Set(fault.Faults{})
	}
	all := b.replica.Injected()
	if len(all) != 5 {
		t.Errorf("counted are %v", all)
	}
	for name := range all {
		if _, err := fault.Parse(fmt.Sprintf(`{%q: 1}`, name)); err != nil {
			t.Errorf("%s is no fault: %v", name, err)
		}
	}
}

func TestDeadAfter(t *testing.T) {
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{DeadAfter: 2})
	b.expect("a.test", "/", 200)
	b.expect("a.test", "/", 200)
	ctx, giveUp := context.WithTimeout(t.Context(), 10*time.Second)
	defer giveUp()
	answered := make(chan bool, 1)
	go func() {
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(b.request("GET", "a.test", "/", nil).WithContext(ctx))
		if err == nil {
			response.Body.Close()
		}
		answered <- err == nil
	}()
	for b.replica.Injected()["deadAfter"] == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	giveUp()
	if <-answered {
		t.Error("a dead replica answers")
	}
	b.expectInjected(map[string]int64{"deadAfter": 1})
}

func TestEjectFor(t *testing.T) {
	b := start(t)
	bad, good := b.backend(500), b.backend(200)
	both := config.Backend{Endpoints: append(bad.at.Endpoints, good.at.Endpoints...)}
	b.publish(map[string]config.Backend{"a": both, "b": both}, plain(hosted(1, "a"), hosted(1, "b")))
	b.faults.Set(fault.Faults{EjectFor: time.Hour})
	for range 4 {
		b.get("a.test", "/")
	}
	if n := bad.requests.Load(); n != 1 {
		t.Errorf("the endpoint that fails was asked %d times, want once", n)
	}
	for range 4 {
		b.get("b.test", "/")
	}
	if n := bad.requests.Load(); n != 2 {
		t.Errorf("with a second route it was asked %d times, want once more", n)
	}
	b.expectInjected(map[string]int64{"ejectFor": 2})
	b.publish(map[string]config.Backend{"a": bad.at}, plain(hosted(1, "a")))
	b.expect("a.test", "/", 500) // no other endpoint is left
}
