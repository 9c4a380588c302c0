package sampler

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gatemark/gatemark/measure/usage/reading"
)

// both runs a test on a node of each version.
func both(t *testing.T, test func(t *testing.T, m *machine)) {
	for _, version := range []int{1, 2} {
		t.Run("version "+strconv.Itoa(version), func(t *testing.T) { test(t, newMachine(t, version)) })
	}
}

// A listener asks a sampler and keeps what it is told.
type listener struct {
	t        *testing.T
	sampler  *Sampler
	instance string
	groups   []reading.Group
	readings []reading.Reading
	first    int
}

// listen starts a sampler that reads by itself only when the machine's cgroups
// appear and vanish.
func (m *machine) listen() *listener {
	m.t.Helper()
	s, err := New(Options{Cgroups: m.cgroups, Proc: m.proc, Pod: uid(1), Interval: time.Hour, Token: "secret"})
	if err != nil {
		m.t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- s.Run(m.t.Context()) }()
	m.t.Cleanup(func() {
		if err := <-ran; err != nil { // the test's context has ended
			m.t.Error(err)
		}
	})
	return &listener{t: m.t, sampler: s}
}

func (l *listener) ask(now bool) reading.Answer {
	l.t.Helper()
	query := url.Values{"since": {strconv.Itoa(l.first)}, "groups": {strconv.Itoa(len(l.groups))}, "instance": {l.instance}, "now": {strconv.FormatBool(now)}}
	req := httptest.NewRequestWithContext(l.t.Context(), http.MethodGet, reading.ReadingsPath+"?"+query.Encode(), nil)
	req.Header.Set("Authorization", "Bearer secret")
	w := httptest.NewRecorder()
	l.sampler.ServeHTTP(w, req)
	var a reading.Answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusOK {
		l.t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if a.Problem != "" {
		l.t.Errorf("problem: %s", a.Problem)
	}
	if a.First != l.first || a.FirstGroup != len(l.groups) {
		l.t.Errorf("asked from %d and %d, got from %d and %d", l.first, len(l.groups), a.First, a.FirstGroup)
	}
	l.instance = a.Instance
	l.groups = append(l.groups, a.Groups...)
	l.readings = append(l.readings, a.Readings...)
	l.first = a.First + len(a.Readings)
	return a
}

// of returns the readings of a group.
func (l *listener) of(path string) []reading.Reading {
	var all []reading.Reading
	for _, r := range l.readings {
		if l.groups[r.Group].Path == path {
			all = append(all, r)
		}
	}
	return all
}

func (l *listener) last(path string) reading.Reading {
	l.t.Helper()
	all := l.of(path)
	if len(all) == 0 {
		l.t.Fatalf("nothing was read of %s, only of %+v", path, l.groups)
	}
	return all[len(all)-1]
}

// until asks until something is so: the kernel tells of folders in its own time.
func (l *listener) until(what string, so func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("waited in vain for %s; readings %+v", what, l.readings)
		}
		l.ask(false)
	}
}

func (l *listener) untilGone(path string) reading.Reading {
	l.t.Helper()
	l.until("the end of "+path, func() bool { all := l.of(path); return len(all) > 0 && all[len(all)-1].Gone })
	return l.last(path)
}

func TestWhatIsThereAtTheStart(t *testing.T) {
	both(t, func(t *testing.T, m *machine) {
		m.use("/", 90_000, 9000)
		m.use(m.pod(1), 30_000, 4000)
		m.use(m.container(1, 7), 20_000, 3000)
		m.process(11, m.container(1, 7), 100, 200)
		m.process(10, m.container(1, 7), 100, 200)
		beside := "/gatemark/x/etcd"
		if m.version == 2 {
			beside = "/system.slice/etcd.service"
		}
		m.use(beside, 7000, 2000)
		l := m.listen()
		l.ask(true)
		pod := l.last(m.pod(1))
		if pod.CPU != 30_000 || pod.WorkingSet != 3000 || pod.Usage != 4000 || pod.Anon != 5 || pod.In != 100 || pod.Out != 200 {
			t.Errorf("the pod: %+v", pod)
		}
		if g := l.groups[pod.Group]; g.Kind != reading.Pod || g.Pod != uid(1) {
			t.Errorf("the pod: %+v", g)
		}
		container := l.last(m.container(1, 7))
		if g := l.groups[container.Group]; container.CPU != 20_000 || g.Kind != reading.Container || g.Pod != uid(1) || g.Container != id(7) {
			t.Errorf("the container: %+v, %+v", g, container)
		}
		other := l.last(beside)
		if g := l.groups[other.Group]; other.CPU != 7000 || g.Kind != reading.Other {
			t.Errorf("what runs beside: %+v, %+v", g, other)
		}
		node := l.last("/")
		if node.CPU != 90_000 || l.groups[node.Group].Kind != reading.Node {
			t.Errorf("the node: %+v", node)
		}
	})
}

// TestOnlyWhatMoves: a pod that stands still is not told of, and when it moves
// again it is told until when it stood.
func TestOnlyWhatMoves(t *testing.T) {
	both(t, func(t *testing.T, m *machine) {
		m.use(m.pod(1), 1000, 2000)
		s, err := New(Options{Cgroups: m.cgroups, Proc: m.proc, Pod: uid(1), Token: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		number := s.byPath[m.pod(1)].number
		for range 2 * idleReads {
			s.sample(false)
		}
		l := &listener{t: t, sampler: s}
		l.ask(false)
		if n := len(l.of(m.pod(1))); n != 1+2 {
			t.Errorf("a pod that stands still was told of %d times", n)
		}
		if n := len(l.of("/")); n != 1+2*idleReads {
			t.Errorf("the node was told of %d times", n)
		}
		for (s.tick+number)%idleReads != 2 {
			s.sample(false)
		}
		before := s.clock()
		for path := m.pod(1); path != "/"; path = filepath.Dir(path) {
			m.use(path, 3000, 2000)
		}
		s.sample(false)
		l.ask(false)
		moved := l.last(m.pod(1))
		if moved.CPU != 3000 || moved.Since == 0 || moved.Since >= before || moved.At < before {
			t.Errorf("after it moved at %d: %+v", before, moved)
		}
	})
}

// TestAPodThatComesAndGoes: from the first nanosecond to the last.
func TestAPodThatComesAndGoes(t *testing.T) {
	both(t, func(t *testing.T, m *machine) {
		m.use(m.pod(1), 1000, 2000)
		l := m.listen()
		l.ask(true)
		m.use(m.pod(2), 0, 0)
		m.use(m.container(2, 1), 0, 0)
		m.use(m.container(2, 2), 0, 0)
		l.until("both containers", func() bool { return len(l.of(m.container(2, 1))) > 0 && len(l.of(m.container(2, 2))) > 0 })
		m.process(10, m.container(2, 1), 0, 0)
		if r := l.of(m.pod(2))[0]; r.CPU != 0 {
			t.Errorf("it began with %+v", r)
		}
		m.use(m.container(2, 1), 4_000_000, 5000)
		m.use(m.container(2, 2), 1_000_000, 5000)
		m.use(m.pod(2), 5_000_000, 9000)
		l.ask(true)
		// What nobody sees while it happens: the container runs on, sends, and ends.
		m.network(10, 70, 80)
		m.use(m.pod(2), 7_000_000, 9000)
		m.remove(m.container(2, 1))
		dead := l.untilGone(m.container(2, 1))
		if dead.CPU != 6_000_000 || dead.Guess != 0 || dead.WorkingSet != 0 {
			t.Errorf("the container that ended: %+v", dead)
		}
		if pod := l.last(m.pod(2)); pod.CPU != 7_000_000 || pod.In != 70 || pod.Out != 80 {
			t.Errorf("its pod: %+v", pod)
		}
		m.remove(m.container(2, 2))
		if dead := l.untilGone(m.container(2, 2)); dead.CPU != 1_000_000 {
			t.Errorf("the other container: %+v", dead)
		}
		m.remove(m.pod(2))
		if dead := l.untilGone(m.pod(2)); dead.CPU != 7_000_000 || dead.In != 70 || dead.Out != 80 || dead.Guess != 0 {
			t.Errorf("the pod that ended: %+v", dead)
		}
	})
}

// TestDeadTogether: what the parent has beyond the living is divided, and said
// to be a guess.
func TestDeadTogether(t *testing.T) {
	both(t, func(t *testing.T, m *machine) {
		m.use(m.pod(1), 11_000_000, 2000) // 1 ms of a container of the past
		for n := range 3 {
			m.use(m.container(1, n), (n+1)*1_000_000, 100)
		}
		m.use(m.pod(1), 7_000_000, 2000)
		s, err := New(Options{Cgroups: m.cgroups, Proc: m.proc, Pod: uid(1), Token: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		pod := s.byPath[m.pod(1)]
		for n := range 2 {
			pod.children[n].ended = true
		}
		m.use(m.container(1, 2), 3_500_000, 100)
		m.use(m.pod(1), 8_500_000, 2000) // 0.5 ms of the living, 1 ms of the dead
		s.settle(pod)
		l := &listener{t: t, sampler: s}
		l.ask(false)
		for n, want := range []int64{1_500_000, 2_500_000} {
			if dead := l.last(m.container(1, n)); dead.CPU != want || dead.Guess != 500_000 || !dead.Gone {
				t.Errorf("container %d: %+v", n, dead)
			}
		}
		if len(pod.children) != 1 || pod.buried != 1_000_000+4_000_000 {
			t.Errorf("%d children are left, %d was buried", len(pod.children), pod.buried)
		}
	})
}

func TestANewLife(t *testing.T) {
	m := newMachine(t, 2)
	m.use(m.pod(1), 1000, 2000)
	l := m.listen()
	first := l.ask(true)
	again := m.listen()
	// Asked with another's numbers, it tells everything.
	again.instance, again.first = first.Instance, 0
	if a := again.ask(true); a.Instance == first.Instance || len(a.Groups) != len(l.groups) || len(a.Readings) == 0 {
		t.Errorf("answer %+v", a)
	}
}

func TestWhoMayAsk(t *testing.T) {
	m := newMachine(t, 1)
	m.use(m.pod(1), 1000, 2000)
	s := m.listen().sampler
	for _, c := range []struct {
		path, token string
		want        int
	}{
		{reading.HealthPath, "", http.StatusNoContent},
		{reading.ReadingsPath, "", http.StatusUnauthorized},
		{reading.ReadingsPath, "Bearer wrong", http.StatusUnauthorized},
		{reading.ReadingsPath, "secret", http.StatusUnauthorized},
		{reading.ReadingsPath + "?since=x", "Bearer secret", http.StatusBadRequest},
		{reading.ReadingsPath + "?groups=-1", "Bearer secret", http.StatusBadRequest},
		{reading.ReadingsPath, "Bearer secret", http.StatusOK},
		{"/", "Bearer secret", http.StatusNotFound},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
		req.Header.Set("Authorization", c.token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		if w.Code != c.want {
			t.Errorf("GET %s with %q: %d, want %d", c.path, c.token, w.Code, c.want)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	m := newMachine(t, 1)
	m.use(m.pod(1), 1000, 2000)
	good := Options{Cgroups: m.cgroups, Proc: m.proc, Pod: uid(1), Token: "t"}
	for name, change := range map[string]func(*Options){
		"no token":        func(o *Options) { o.Token = "" },
		"no pod":          func(o *Options) { o.Pod = "" },
		"a pod elsewhere": func(o *Options) { o.Pod = uid(9) },
		"too often":       func(o *Options) { o.Interval = LeastInterval - 1 },
		"no cgroups":      func(o *Options) { o.Cgroups = m.proc },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestDevices(t *testing.T) {
	for _, text := range []string{"eth0: 1 2 3\n", "eth0: x 2 3 4 5 6 7 8 9\n"} {
		if _, _, err := devices([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	in, out, err := devices([]byte("lo: 9 0 0 0 0 0 0 0 9 0\neth0: 1 0 0 0 0 0 0 0 2 0\nnet1: 10 0 0 0 0 0 0 0 20 0\n"))
	if in != 11 || out != 22 || err != nil {
		t.Errorf("%d, %d, %v", in, out, err)
	}
}

func TestNodeMemory(t *testing.T) {
	m := newMachine(t, 2)
	m.write(m.proc+"/pressure/cpu", "some avg10=1.00 avg60=1.00 avg300=1.00 total=77")
	if err := os.Remove(m.cgroups + "/memory.current"); err != nil { // as it is at the root
		t.Fatal(err)
	}
	m.use(m.pod(1), 1000, 2000)
	l := m.listen()
	l.ask(true)
	if node := l.last("/"); node.Usage != 600<<10 || node.WorkingSet != 500<<10 || node.StallCPU != 77000 {
		t.Errorf("the node: %+v", node)
	}
}
