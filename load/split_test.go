package load

import (
	"strings"
	"testing"
	"time"
)

func splittable() Options {
	return Options{
		Targets:     []Target{{URL: "http://a/{0..9}"}, {URL: "http://b/"}, {URL: "https://b/", Host: "{x,y}"}},
		Connections: 18, Rate: Steady(1000, 2*time.Second),
	}
}

// TestSplit: each number of the schedule falls to one thread of one attacker,
// and every arrival is at the same instant as in one attacker with as many
// threads.
func TestSplit(t *testing.T) {
	for _, arrival := range []Arrival{Even, Uniform, Poisson} {
		o := splittable()
		o.Arrival, o.Seed = arrival, 5
		parts, err := o.Split(2, 8)
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint64]time.Duration{}
		connections := 0
		for _, p := range parts {
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
			if p.Threads != 2 {
				t.Errorf("%d threads for %d connections and 4 endpoints", p.Threads, p.Connections)
			}
			connections += p.Connections
			for thread := range p.Threads {
				dueIn(t, got, &p, thread)
			}
		}
		want := map[uint64]time.Duration{}
		one := o
		one.Threads, one.Parts = 4, 1
		for thread := range one.Threads {
			dueIn(t, want, &one, thread)
		}
		if connections != 18 || len(got) != len(want) || arrival != Poisson && len(got) != 2000 {
			t.Errorf("%v: %d connections, %d requests, %d for one attacker", arrival, connections, len(got), len(want))
		}
		for number, due := range want {
			if got[number] != due {
				t.Fatalf("%v: request %d is due at %v, and at %v with one attacker", arrival, number, got[number], due)
			}
		}
	}
}

func dueIn(t *testing.T, into map[uint64]time.Duration, o *Options, thread int) {
	t.Helper()
	a := NewArrivals(o.Rate, o.Arrival, o.Seed, o.Part+o.Parts*thread, o.Parts*o.Threads)
	for {
		number, due, ok := a.Next()
		if !ok {
			return
		}
		if _, taken := into[number]; taken {
			t.Fatalf("request %d is due twice", number)
		}
		into[number] = due
	}
}

func TestSplitClosedLoop(t *testing.T) {
	o := splittable()
	o.Rate, o.Requests, o.Connections = nil, 10, 0
	parts, err := o.Split(3, 8)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{4, 3, 3} {
		if p := parts[i]; p.Requests != want || p.Connections != 4 || p.Threads != 1 || p.Part != i || p.Parts != 3 {
			t.Errorf("part %d: %d requests, %d connections, %d threads, part %d of %d", i, p.Requests, p.Connections, p.Threads, p.Part, p.Parts)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(o *Options)
		want   string
	}{
		{func(o *Options) { o.Connections = 11 }, "connections: 11 are too few for 3 attackers and 4 endpoints (addresses, TLS server names, paths of WebSockets): want at least 12"},
		{func(o *Options) { o.Threads = 2 }, "threads: each of 3 attackers needs 8 connections"},
		{func(o *Options) { o.Parts, o.Part = 2, 1 }, "parts: the options are already those of one of 2 attackers"},
		{func(o *Options) { o.Rate, o.Requests = nil, 2 }, "requests: 2 are too few for 3 attackers"},
		{func(o *Options) { o.Targets[0].URL = "http://a/{0..9" }, "{ without }"},
		{func(o *Options) { o.Targets = nil }, "no target"},
	} {
		o := splittable()
		c.change(&o)
		if _, err := o.Split(3, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
