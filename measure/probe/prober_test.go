package probe

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/marker"
)

func TestKeptConnectionsOutliveQuestions(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	options := quick()
	options.Connections = Kept
	p, err := New([]Target{s.target("replica")}, options)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 3 {
		g.open.Store(false)
		i, err := p.Ask(question())
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Old(deadline(t)); err != nil {
			t.Fatal(err)
		}
		i.Mark(time.Now())
		g.switchOver()
		if o := wait(t, i); o.Lanes[0].Reconnects != 0 {
			t.Errorf("%d reconnects", o.Lanes[0].Reconnects)
		}
		if err := i.Stop(); err != nil {
			t.Errorf("stop after the end: %v", err)
		}
	}
	if n := s.connections(); n != 1 {
		t.Errorf("%d connections for three questions", n)
	}
}

func TestOneQuestionAtATime(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	p, err := New([]Target{s.target("replica")}, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	i, err := p.Ask(question())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Ask(question()); err == nil || !strings.Contains(err.Error(), "one at a time") {
		t.Errorf("a second question: %v", err)
	}
	if err := i.Stop(); err != nil {
		t.Fatal(err)
	}
	again, err := p.Ask(question())
	if err != nil {
		t.Fatalf("after the first one was stopped: %v", err)
	}
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
}

func TestWaitIsCancelled(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	i := begin(t, question(), quick(), s.target("replica"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o, err := i.Wait(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || o == nil || len(o.Censored()) != 2 {
		t.Errorf("got %v, %v", o, err)
	}
}

func TestEndWithoutMark(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	i, err := Start(question(), []Target{s.target("replica")}, quick())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if o, err := i.Wait(ctx); o != nil || err == nil || !strings.Contains(err.Error(), "before the change was marked") {
		t.Errorf("got %v, %v", o, err)
	}
}

func TestClosed(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	p, err := New([]Target{s.target("replica")}, quick())
	if err != nil {
		t.Fatal(err)
	}
	i, err := p.Ask(question())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := p.Ask(question()); !errors.Is(err, ErrClosed) {
		t.Errorf("ask: %v", err)
	}
	i.Mark(time.Now())
	if o, err := i.Wait(deadline(t)); o != nil || err == nil {
		t.Errorf("wait: %v, %v", o, err)
	}
	if err := i.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestNothingIsLeft(t *testing.T) {
	// The server is not part of the count: its connections end in their time.
	var g gate
	s := newServer(t, g.answers)
	run := func() {
		g.open.Store(false)
		options := quick()
		options.Settle, options.Realtime = time.Millisecond, true
		i := begin(t, question(), options, s.target("replica"))
		g.switchOver()
		wait(t, i)
	}
	run()
	processors := runtime.GOMAXPROCS(0)
	descriptors, goroutines := settled(t, func() (int, int) { return counts(t) })
	for range 20 {
		run()
	}
	for range 500 {
		d, n := counts(t)
		if d <= descriptors && n <= goroutines {
			if got := runtime.GOMAXPROCS(0); got != processors {
				t.Errorf("GOMAXPROCS %d, was %d", got, processors)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	d, n := counts(t)
	t.Errorf("%d descriptors and %d goroutines, %d and %d before", d, n, descriptors, goroutines)
}

// settled waits until two counts in a row agree.
func settled(t *testing.T, count func() (int, int)) (int, int) {
	t.Helper()
	a, b := count()
	for {
		time.Sleep(50 * time.Millisecond)
		c, d := count()
		if a == c && b == d {
			return a, b
		}
		a, b = c, d
	}
}

func counts(t *testing.T) (descriptors, goroutines int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries), runtime.NumGoroutine()
}

func TestRefusals(t *testing.T) {
	var g gate
	target := newServer(t, g.answers).target("replica")
	if _, err := New([]Target{{Name: "nowhere"}}, Options{Step: 1, Sparse: 2}); err == nil {
		t.Error("bad options were taken")
	} else {
		for _, part := range []string{"nowhere", "below 50us", "sparse"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("a prober without targets")
	}
	cases := map[string]func(*Question){
		"without a host":               func(q *Question) { q.Host = "" },
		"does not begin with a slash":  func(q *Question) { q.Path = "x" },
		"a space or control character": func(q *Question) { q.Host = "a\r\nX: y" },
		"a line break":                 func(q *Question) { q.Header = [][2]string{{"X", "a\r\nY: b"}} },
		"has status 0":                 func(q *Question) { q.Old = State{} },
		"can show both":                func(q *Question) { q.Old = q.New },
	}
	for want, spoil := range cases {
		q := question()
		spoil(&q)
		if _, err := Start(q, []Target{target}, quick()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestOverlap(t *testing.T) {
	cases := []struct {
		old, new State
		want     bool
	}{
		{Answers(404), Serves(marker.Expect("a", 1)), false},
		{Serves(marker.Expect("a", 1)), Serves(marker.Expect("a", 2)), false},
		{Serves(marker.Expect("a", 1)), Serves(marker.Expect("b", 1)), false},
		{Serves(marker.Expect("a", 1)), Serves(marker.Expect("a", 1)), true},
		{Answers(200), Serves(marker.Expect("a", 1)), true},
		{Serves(marker.Marker{Pod: "x"}), Serves(marker.Marker{Pod: "y"}), false},
		{Serves(marker.Marker{Pod: "x"}), Serves(marker.Expect("a", 1)), true},
		{State{Status: 404, Refused: true}, State{Status: 200, Refused: true}, true},
	}
	for _, c := range cases {
		if got := (&Question{Old: c.old, New: c.new}).overlap(); got != c.want {
			t.Errorf("%v and %v: got %v", c.old, c.new, got)
		}
	}
}

// twoPods answers from two backends, at random, while mixed says so, and from
// the first otherwise.
func twoPods(mixed func() bool) func(*request) string {
	first, second := marker.Marker{Route: "a", Generation: 1, Pod: "one"}, marker.Marker{Route: "a", Generation: 1, Pod: "two"}
	return func(*request) string {
		if mixed() && rand.IntN(2) == 0 {
			return podAnswer(second)
		}
		return podAnswer(first)
	}
}

func podAnswer(m marker.Marker) string {
	return strings.Replace(answer(200, m), "\r\n\r\n", "\r\n"+marker.PodHeader+": "+m.Pod+"\r\n\r\n", 1)
}

// An endpoint that joins others is there with its first answer: the others
// answer on.
func TestMixedAfter(t *testing.T) {
	var g gate
	s := newServer(t, twoPods(g.open.Load))
	q := Question{Host: "a.example", Mixed: MixedAfter,
		Old: Serves(marker.Marker{Route: "a", Generation: 1, Pod: "one"}), New: Serves(marker.Marker{Route: "a", Generation: 1, Pod: "two"})}
	i := begin(t, q, quick(), s.target("replica"))
	time.Sleep(20 * time.Millisecond)
	g.switchOver()
	o := wait(t, i)
	for n := range o.Lanes {
		lane := &o.Lanes[n]
		if lane.First.By.Before(g.before) || lane.First.After.After(lane.First.By) || lane.Flaps > 0 || lane.Transition.ErrorCount() > 0 {
			t.Errorf("%v: first %v, %d flaps, errors %v; the switch was at %v", lane, lane.First, lane.Flaps, lane.Transition.Errors, g.before)
		}
	}
}

// An endpoint that goes is gone when nothing comes from it any more.
func TestMixedBefore(t *testing.T) {
	var g gate
	s := newServer(t, twoPods(func() bool { return !g.open.Load() }))
	q := Question{Host: "a.example", Mixed: MixedBefore,
		Old: Serves(marker.Marker{Route: "a", Generation: 1, Pod: "two"}), New: Serves(marker.Marker{Route: "a", Generation: 1, Pod: "one"})}
	i := begin(t, q, quick(), s.target("replica"))
	time.Sleep(20 * time.Millisecond)
	g.switchOver()
	o := wait(t, i)
	for n := range o.Lanes {
		lane := &o.Lanes[n]
		if lane.First != lane.Stable || lane.Stable.After.After(g.after) || lane.Flaps > 0 || lane.Transition.ErrorCount() > 0 {
			t.Errorf("%v: first %v, stable %v, %d flaps, errors %v; the switch was at %v", lane, lane.First, lane.Stable, lane.Flaps, lane.Transition.Errors, g.after)
		}
	}
}

// Where the endpoint that is to go never answered there is nothing to measure.
func TestMixedBeforeNeedsAnAnswerOfWhatGoes(t *testing.T) {
	s := newServer(t, twoPods(func() bool { return false }))
	q := Question{Host: "a.example", Mixed: MixedBefore,
		Old: Serves(marker.Marker{Route: "a", Generation: 1, Pod: "two"}), New: Serves(marker.Marker{Route: "a", Generation: 1, Pod: "one"})}
	i, err := Start(q, []Target{s.target("replica")}, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := i.Old(ctx); err == nil {
		t.Error("the old state was seen")
	}
}
