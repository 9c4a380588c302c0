package probe

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
)

// injected answers n requests with a fault, whoever comes first, and all
// others with the new state.
func injected(n int, fault string) func(*request) string {
	var left atomic.Int64
	left.Store(int64(n))
	return func(*request) string {
		if left.Add(-1) >= 0 {
			return fault
		}
		return newAnswer
	}
}

func TestFaultsAreCountedExactly(t *testing.T) {
	const n = 37
	cases := []struct {
		name, fault string
		class       load.Class
		status      int
	}{
		{"503", "HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n", load.Status5xx, 503},
		{"503 and close", "HTTP/1.1 503 x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", load.Status5xx, 503},
		{"another route", answer(200, marker.Expect("b", 2)), load.WrongMarker, 200},
		{"another generation", answer(200, marker.Expect("a", 3)), load.WrongMarker, 200},
		{"no marker", "HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n", load.WrongMarker, 200},
		{"redirect", "HTTP/1.1 301 x\r\nContent-Length: 0\r\n\r\n", load.Status3xx, 301},
		{"reset", reset, load.Reset, 0},
		{"end", hangUp, load.EOF, 0},
		{"nonsense", "hello\r\n", load.Malformed, 0},
		{"two answers", newAnswer + newAnswer, load.Malformed, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, func(*request) string { return oldAnswer })
			i := begin(t, question(), quick(), s.target("replica"))
			s.set(injected(n, c.fault))
			o := wait(t, i)
			got := o.Total(transition)
			if diff := cmp.Diff(map[load.Class]int{c.class: n}, got.Errors); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if c.status != 0 && c.status != 200 && got.Status[c.status] != n {
				t.Errorf("status %v", got.Status)
			}
			misrouted, reconnects := 0, 0
			for k := range o.Lanes {
				lane := &o.Lanes[k]
				for _, count := range lane.Misrouted {
					misrouted += count
				}
				reconnects += lane.Reconnects
				if lane.After.ErrorCount() > 0 {
					t.Errorf("%v: errors after it was stable: %v", lane, lane.After.Errors)
				}
				for _, e := range lane.Examples {
					if e.Class != c.class || e.Status != c.status || e.At <= 0 || (e.Text == "") != (c.status != 0) {
						t.Errorf("%v: example %+v", lane, e)
					}
				}
			}
			if want := n * boolean(c.class == load.WrongMarker); misrouted != want {
				t.Errorf("%d misrouted, want %d", misrouted, want)
			}
			if broken := c.status == 0 || strings.Contains(c.fault, "close"); broken == (reconnects == 0) && o.Lanes[0].Transition.ErrorCount() > 0 {
				t.Errorf("%d reconnects", reconnects)
			}
		})
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestMisroutedSaysWhere(t *testing.T) {
	s := newServer(t, func(*request) string { return oldAnswer })
	i := begin(t, question(), quick(), s.target("replica"))
	wrong := marker.Expect("b", 7)
	s.set(injected(30, answer(200, wrong)))
	o := wait(t, i)
	for n := range o.Lanes {
		lane := &o.Lanes[n]
		if lane.Transition.Errors[load.WrongMarker] == 0 {
			continue // the other one had them all
		}
		if n := lane.Misrouted["status 200, route b generation 7"]; n != lane.Transition.Errors[load.WrongMarker] {
			t.Errorf("%v: misrouted %v", lane, lane.Misrouted)
		}
		if len(lane.Examples) == 0 || lane.Examples[0].Marker != wrong {
			t.Errorf("%v: examples %v", lane, lane.Examples)
		}
	}
}

func TestFlapping(t *testing.T) {
	s := newServer(t, func(*request) string { return oldAnswer })
	options := quick()
	options.Connections = Kept
	i := begin(t, question(), options, s.target("replica"))
	states := []string{newAnswer, newAnswer, oldAnswer, newAnswer, oldAnswer, oldAnswer}
	var n atomic.Int64
	s.set(func(*request) string {
		if k := int(n.Add(1)); k <= len(states) {
			return states[k-1]
		}
		return newAnswer
	})
	o := wait(t, i)
	lane := &o.Lanes[0]
	if lane.Flaps != 3 {
		t.Errorf("%d flaps, want 3", lane.Flaps)
	}
	if lane.Transition.Right != 3 || !lane.First.By.Before(lane.Stable.By) || lane.Stable.After.Before(lane.First.By) {
		t.Errorf("first %v, stable %v, %+v", lane.First, lane.Stable, lane.Transition)
	}
}

// A replica that drops its kept connections between probes is seen, and is
// not an error: nothing was asked.
func TestIdleConnectionsDropped(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	options := quick()
	options.Connections, options.Step = Kept, 150*time.Millisecond
	options.OldAnswers, options.SettleAnswers = 1, 2
	i := begin(t, question(), options, s.target("replica"))
	s.set(func(r *request) string {
		s.set(func(*request) string { return newAnswer })
		time.AfterFunc(5*time.Millisecond, func() { r.conn.Close() })
		return newAnswer
	})
	o := wait(t, i)
	lane := &o.Lanes[0]
	if lane.IdleCloses != 1 || lane.Reconnects != 1 || lane.Transition.ErrorCount() != 0 {
		t.Errorf("%d idle closes, %d reconnects, errors %v", lane.IdleCloses, lane.Reconnects, lane.Transition.Errors)
	}
}

func TestRefused(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	target := s.target("replica")
	options := quick()
	options.Limit = 300 * time.Millisecond
	i := begin(t, question(), options, target)
	s.close()
	o, err := i.Wait(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	for n := range o.Lanes {
		if lane := &o.Lanes[n]; lane.Transition.Errors[load.Refused] == 0 {
			t.Errorf("%v: %v", lane, lane.Transition.Errors)
		}
	}
}

// The port opens only with the change.
func TestRefusedIsTheOldState(t *testing.T) {
	var g gate
	g.open.Store(true)
	s := newServer(t, g.answers)
	target := s.target("replica")
	s.close()
	q := question()
	q.Old.Refused = true
	i := begin(t, q, quick(), target)
	again, err := listenAt(target.Address.String(), g.answers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.close)
	o := wait(t, i)
	if n := o.Total(transition); n.ErrorCount() > 0 {
		t.Errorf("errors %v", n.Errors)
	}
}

func TestHangingAnswers(t *testing.T) {
	s := newServer(t, func(*request) string { return oldAnswer })
	options := quick()
	options.Timeout = time.Second // ample for the answers that come
	i := begin(t, question(), options, s.target("replica"))
	const n = 5
	s.set(injected(n, hang))
	o := wait(t, i)
	if got := o.Total(transition).Errors; got[load.Timeout] != n || len(got) != 1 {
		t.Errorf("errors %v, want %d timeouts", got, n)
	}
	for k := range o.Lanes {
		for _, s := range o.Lanes[k].Samples {
			if s.Class == load.Timeout && s.Received-s.Began < options.Timeout {
				t.Errorf("given up after %v, timeout %v", s.Received-s.Began, options.Timeout)
			}
		}
	}
}

// A port whose backlog is full swallows connection requests.
func blackHole(t *testing.T) netip.AddrPort {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	local := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := errors.Join(unix.Bind(fd, local), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(netip.AddrFrom4(local.Addr), uint16(name.(*unix.SockaddrInet4).Port))
	for range 2 {
		filler, err := dial(address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(filler.close)
	}
	return address
}

func TestBlackHole(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	options := quick()
	options.Timeout, options.OldAnswers = 200*time.Millisecond, 1
	i, err := Start(question(), []Target{s.target("healthy"), {"hole", blackHole(t)}}, options)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
	defer cancel()
	err = i.Old(ctx)
	if err == nil {
		t.Fatal("the old state was seen in a black hole")
	}
	for _, part := range []string{"hole (kept)", "hole (new)", "timeout: no connection in time"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "healthy") {
		t.Errorf("%q blames the healthy one", err)
	}
}

func TestOldSaysWhoIsMissing(t *testing.T) {
	var g gate
	good := newServer(t, g.answers)
	bad := newServer(t, func(*request) string { return "HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n" })
	i, err := Start(question(), []Target{good.target("good"), bad.target("bad")}, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = i.Old(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"waiting for the old state (status 404)", "bad (kept): 0 old answers in a row, want 3", "bad (new)", "status 5xx (status 503), no marker"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "good") {
		t.Errorf("%q blames the good one", err)
	}
}

// Without descriptors nothing can be probed: that says nothing about the
// target, and the trial is not valid.
func TestOurOwnFailure(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	options := quick()
	options.Connections = Fresh
	i := begin(t, question(), options, s.target("replica"))
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: 3, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	g.switchOver()
	o, err := i.Wait(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	lane := &o.Lanes[0]
	if n := lane.Transition.Errors[load.DescriptorsExhausted]; n == 0 || n != lane.Transition.ErrorCount() {
		t.Errorf("errors %v", lane.Transition.Errors)
	}
	if len(lane.Examples) == 0 || !strings.Contains(lane.Examples[0].Text, "too many open files") {
		t.Errorf("examples %v", lane.Examples)
	}
	if lane.First.By.Before(g.before) || !lane.Stable.Seen() {
		t.Errorf("first %v, stable %v", lane.First, lane.Stable)
	}
	if err := o.Valid(); err == nil || !strings.Contains(err.Error(), "reasons of our own: descriptors exhausted") {
		t.Errorf("got %v", err)
	}
}

// The old state is lost between Old and Mark: the trial is not valid.
func TestChangeBeforeT0(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	i, err := Start(question(), []Target{s.target("replica")}, quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Old(deadline(t)); err != nil {
		t.Fatal(err)
	}
	g.switchOver()
	time.Sleep(50 * time.Millisecond)
	i.Mark(time.Now())
	o, err := i.Wait(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	err = o.Valid()
	if err == nil || !strings.Contains(err.Error(), "replica (kept): answered the new state") {
		t.Errorf("got %v", err)
	}
}
