package attacker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/load"
)

const token = "the run's"

// A post is an attacker in this process.
type post struct {
	*Server
	http *httptest.Server
	// instead, if set, answers in place of the server.
	instead atomic.Pointer[http.HandlerFunc]
}

func (p *post) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if instead := p.instead.Load(); instead != nil {
		(*instead)(w, r)
		return
	}
	p.Server.ServeHTTP(w, r)
}

func (p *post) address() string { return p.http.Listener.Addr().String() }

// kill is as if its process had ended.
func (p *post) kill() {
	// For a connection that is just being accepted, and escapes both calls.
	p.answer(func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
	})
	p.http.CloseClientConnections()
	p.http.Listener.Close()
	p.http.CloseClientConnections()
}

// posts starts n attackers. The clock of each is an hour ahead of the one
// before.
func posts(t *testing.T, n int) (all []*post, members []Member) {
	t.Helper()
	for i := range n {
		s, err := newServer(token, time.Duration(i)*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		p := &post{Server: s}
		p.http = httptest.NewServer(p)
		t.Cleanup(func() {
			p.kill()
			p.http.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := s.Close(ctx); err != nil {
				t.Error(err)
			}
		})
		all = append(all, p)
		members = append(members, Member{Name: fmt.Sprint("attacker-", i), Address: p.address()})
	}
	return all, members
}

func fleetOf(t *testing.T, members []Member, o FleetOptions) *Fleet {
	t.Helper()
	f, err := NewFleet(t.Context(), token, members, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// backend serves gatemark's own, and returns its URL.
func backend(t *testing.T) string {
	t.Helper()
	s, err := echo.Listen(echo.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + s.Address().String() + "/"
}

// steady are options of 1000 requests within half a second, and a second for
// their answers.
func steady(url string) load.Options {
	return load.Options{
		Targets:     []load.Target{{URL: url, Expect: load.Expect{Body: -1}}},
		Connections: 8, Engine: load.Epoll, Seed: 1,
		Timeout: time.Minute, // the machine may be busy
		Rate:    load.Profile{{From: 2000, To: 2000, Duration: 500 * time.Millisecond}, {Duration: time.Second}},
	}
}

// run sees an attack through.
func run(t *testing.T, f *Fleet, o load.Options) *Outcome {
	t.Helper()
	if err := f.Prepare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := f.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFourAttackersAreOne: what four find together is what one finds.
func TestFourAttackersAreOne(t *testing.T) {
	_, members := posts(t, 4)
	f := fleetOf(t, members, FleetOptions{})
	for _, arrival := range []load.Arrival{load.Even, load.Poisson} {
		o := steady(backend(t))
		o.Arrival, o.Warmup, o.Threads = arrival, 300*time.Millisecond, 1
		four := run(t, f, o)
		o.Threads = 4 // as many streams of random arrivals
		one, err := load.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(counted(one), counted(four.Result)); diff != "" {
			t.Errorf("%s: one attacker and four differ (-one +four):\n%s", arrival, diff)
		}
		if arrival == load.Even && one.Requests != 400 {
			t.Errorf("%d requests", one.Requests)
		}
		within(t, "requested rate", one.RequestedRate, four.Result.RequestedRate)
		// A machine that is busy with something else may answer after the end.
		if inTime(one) && inTime(four.Result) {
			within(t, "achieved rate", one.AchievedRate, four.Result.AchievedRate)
		} else {
			t.Logf("%s: answers came too late to compare rates: %v and %v", arrival, one.AchievedRate, four.Result.AchievedRate)
		}
		if l := four.Result.Latency; l == nil || l.Count != one.Latency.Count || l.Min <= 0 || l.Min > l.P50 || l.P50 > l.Max {
			t.Errorf("latency %+v of four, %+v of one", l, one.Latency)
		}
		if len(four.Attackers) != 4 || len(four.Clocks) != 4 {
			t.Fatalf("%d attackers, %d clocks", len(four.Attackers), len(four.Clocks))
		}
		var sum int64
		for i, a := range four.Attackers {
			sum += a.Result.Requests
			if a.Name != members[i].Name || a.Result.Part != i || a.Result.Connections != 2 || a.Result.Requests == 0 {
				t.Errorf("attacker %d is %s with part %d, %d connections, %d requests", i, a.Name, a.Result.Part, a.Result.Connections, a.Result.Requests)
			}
		}
		if sum != four.Result.Requests {
			t.Errorf("%d requests are not the sum %d", four.Result.Requests, sum)
		}
	}
}

// counted is what must be the same however often an attack is repeated.
func counted(r *load.Result) map[string]any {
	perSlice := map[string]int64{}
	for _, s := range r.Slices {
		for class, count := range s.Classes {
			perSlice[fmt.Sprintf("%v %v %q", s.Start, class, s.Window)] += count.Count
		}
	}
	windows := map[string]int64{}
	for _, w := range r.Windows {
		windows[w.Name] += w.Requests
	}
	return map[string]any{
		"requests": r.Requests, "errors": r.Errors, "statuses": r.StatusCodes, "connections": r.Connections, "threads": r.Threads,
		"opened": r.Opened, "bytes out": r.BytesOut, "seconds": r.Seconds, "unsent": r.Unsent, "slices": perSlice, "windows": windows,
	}
}

// inTime reports whether every answer came before the schedule's end.
func inTime(r *load.Result) bool {
	var n int64
	for _, s := range r.Slices {
		if s.Window != load.WarmUp {
			n += s.InTime
		}
	}
	return n == r.Requests
}

func within(t *testing.T, what string, one, four float64) {
	t.Helper()
	if one <= 0 || four < one*0.999 || four > one*1.001 {
		t.Errorf("%s: %v with one attacker, %v with four", what, one, four)
	}
}

// TestEveryNumberOnce: the schedule's requests are dealt out, none twice.
func TestEveryNumberOnce(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.Path]++
	}))
	defer server.Close()
	_, members := posts(t, 3)
	o := steady(server.URL + "/" + load.Number)
	o.Rate = load.Steady(1000, time.Second)
	out := run(t, fleetOf(t, members, FleetOptions{}), o)
	if len(out.Result.Errors) > 0 {
		t.Errorf("errors %v", out.Result.Errors)
	}
	for n := range 1000 {
		if path := fmt.Sprintf("/%020d", n); seen[path] != 1 {
			t.Errorf("request %s was sent %d times", path, seen[path])
		}
	}
	if len(seen) != 1000 {
		t.Errorf("%d numbers", len(seen))
	}
}

// TestMarks: a window begins at the same instant for all.
func TestMarks(t *testing.T) {
	_, members := posts(t, 2)
	f := fleetOf(t, members, FleetOptions{})
	o := steady(backend(t))
	o.Rate = load.Steady(500, 4*time.Second)
	if err := f.Prepare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	began, err := f.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(began))
	marked, err := f.Mark(t.Context(), "storm")
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Result.Windows) != 1 {
		t.Fatalf("windows %+v", out.Result.Windows)
	}
	w := out.Result.Windows[0]
	if want := marked.Sub(began).Seconds(); w.Name != "storm" || w.Start != want {
		t.Errorf("window %q begins at %v, not at %v", w.Name, w.Start, want)
	}
	// Requests are due every 2 ms, the first at the start.
	if want := 2000 - int64((marked.Sub(began)+2*time.Millisecond-1)/(2*time.Millisecond)); w.Requests != want {
		t.Errorf("%d requests in a window from %v, want %d", w.Requests, marked.Sub(began), want)
	}
}

// TestStop: all end before their time, and their result is one.
func TestStop(t *testing.T) {
	_, members := posts(t, 2)
	f := fleetOf(t, members, FleetOptions{})
	o := steady(backend(t))
	o.Rate = load.Steady(1000, time.Hour)
	if err := f.Prepare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	began, err := f.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(began.Add(300 * time.Millisecond)))
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := f.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r := out.Result; r.Requests == 0 || len(r.Errors) > 0 || r.Seconds > 1000 {
		t.Errorf("%d requests in %v s, errors %v", r.Requests, r.Seconds, r.Errors)
	}
}

// TestReset: attackers that were told to attack are free for another attack.
func TestReset(t *testing.T) {
	all, members := posts(t, 2)
	f := fleetOf(t, members, FleetOptions{})
	o := steady(backend(t))
	if err := f.Prepare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	other := fleetOf(t, members, FleetOptions{})
	err := other.Prepare(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "attack "+f.attack.id+" on "+o.Targets[0].URL+" is prepared") {
		t.Errorf("a second prepare: %v", err)
	}
	if err := f.Prepare(t.Context(), o); err == nil {
		t.Error("the fleet prepared twice")
	}
	if _, err := f.Collect(t.Context()); err == nil {
		t.Error("collected before the start")
	}
	for range 2 {
		if err := other.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range all {
		if st := p.state(); st.Phase != idle || st.Attack != "" {
			t.Errorf("state %+v", st)
		}
	}
	if r := run(t, other, o).Result; r.Requests != 1000 {
		t.Errorf("%d requests", r.Requests)
	}
	// Whose attack was reset learns of it.
	if _, err := f.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no attack is prepared") {
		t.Errorf("started what is gone: %v", err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	all, members := posts(t, 3)
	f := fleetOf(t, members, FleetOptions{})
	few := steady("http://127.0.0.1:1/")
	few.Connections = 2
	recorded := steady("http://127.0.0.1:1/")
	recorded.Slice = func(*load.Slice) {}
	for want, o := range map[string]load.Options{
		"connections: 2 are too few for 3 attackers": few,
		"functions": recorded,
		"no target": {},
	} {
		if err := f.Prepare(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, p := range all {
		if st := p.state(); st.Phase != idle {
			t.Errorf("state %+v", st)
		}
	}
}

func TestAttackersOfANodeShareItsProcessors(t *testing.T) {
	f := &Fleet{remotes: []*remote{{Member: Member{Node: "a"}, cpus: 8}, {Member: Member{Node: "a"}, cpus: 8}, {Member: Member{Node: "b"}, cpus: 6}}}
	if n := f.threads(); n != 4 {
		t.Errorf("%d threads", n)
	}
	f.remotes[2].cpus = 1
	if n := f.threads(); n != 1 {
		t.Errorf("%d threads", n)
	}
}

func TestWrongToken(t *testing.T) {
	_, members := posts(t, 1)
	_, err := NewFleet(t.Context(), "another run's", members, FleetOptions{})
	var gone *ErrLost
	if err == nil || errors.As(err, &gone) || len(failure.Hints(err)) == 0 || !strings.Contains(err.Error(), "attacker-0") {
		t.Errorf("error %v, hints %q", err, failure.Hints(err))
	}
	if _, err := NewServer(""); err == nil {
		t.Error("a server without a token")
	}
}
