package usage

import (
	"math"
	"testing"

	"github.com/gatemark/gatemark/measure/usage/cgroup"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

const second = int64(1e9)

func read(cpu, memory, in int64) reading.Reading {
	return reading.Reading{Counters: cgroup.Counters{CPU: cpu, WorkingSet: memory, Throttled: cgroup.Unknown}, In: in, Out: cgroup.Unknown}
}

func TestCountersBetweenReadings(t *testing.T) {
	s := &series{}
	s.add(read(100, 10, cgroup.Unknown), 10*second, 0)
	moved := read(300, 30, 1000)
	moved.Since = 1
	s.add(moved, 20*second, 18*second) // it stood still until 18 s
	s.add(read(500, 20, 2000), 30*second, 0)
	for _, c := range []struct {
		at, want float64
	}{{0, 100}, {10, 100}, {15, 100}, {18, 100}, {19, 200}, {20, 300}, {25, 400}, {30, 500}, {99, 500}} {
		if got := s.counter(cpuOf, int64(c.at*1e9)); got != c.want {
			t.Errorf("CPU after %v s: %v, want %v", c.at, got, c.want)
		}
	}
	for _, c := range []struct {
		at, want float64
	}{{9, 0}, {10, 10}, {19.9, 10}, {20, 30}, {31, 20}} {
		if got := s.level(memoryOf, int64(c.at*1e9)); got != c.want {
			t.Errorf("memory after %v s: %v, want %v", c.at, got, c.want)
		}
	}
	// Network was not known at first: what came before is nobody's.
	if got := s.used(inOf, 0, 30*second); got != 1000 {
		t.Errorf("%v bytes came in", got)
	}
	if got := s.used(outOf, 0, 30*second); !math.IsNaN(got) {
		t.Errorf("%v bytes went out", got)
	}
	if got := s.used(throttledOf, 0, 30*second); !math.IsNaN(got) {
		t.Errorf("throttled for %v", got)
	}
}

// TestFromBirthToDeath: what a group used is what its counter shows, from zero,
// however the window lies around it.
func TestFromBirthToDeath(t *testing.T) {
	s := &series{}
	s.add(reading.Reading{}, 10*second, 0)
	first := read(100, 10, 50)
	first.Since = 1
	s.add(first, 11*second, 10*second+second/2) // nothing ran in it until then
	last := read(150, 0, 70)
	last.Gone = true
	s.add(last, 12*second, 0)
	if got := s.used(cpuOf, 0, 20*second); got != 150 {
		t.Errorf("used %v", got)
	}
	if got := s.used(inOf, 0, 20*second); got != 70 {
		t.Errorf("%v bytes came in", got)
	}
	// That it began with none is no reason to say that it sent none.
	if got := s.used(outOf, 0, 20*second); !math.IsNaN(got) {
		t.Errorf("%v bytes went out", got)
	}
	if got := s.level(memoryOf, 13*second); got != 0 {
		t.Errorf("it holds %v after its end", got)
	}
	if s.within(0, 9*second) || s.within(13*second, 20*second) || !s.within(11*second, 20*second) || !s.within(0, 10*second) {
		t.Error("it lived from 10 s to 12 s")
	}
}

// TestClocksThatStepBack: a better offset must not turn time around.
func TestClocksThatStepBack(t *testing.T) {
	s := &series{}
	s.add(read(100, 0, 0), 10*second, 0)
	s.add(read(200, 0, 0), 9*second, 0)
	s.add(read(300, 0, 0), 11*second, 0)
	if got := s.used(cpuOf, 0, 12*second); got != 200 {
		t.Errorf("used %v", got)
	}
	if got := s.counter(cpuOf, 10*second); math.IsNaN(got) {
		t.Error("not a number")
	}
}

func TestClock(t *testing.T) {
	var c clock
	c.asked(0, 100, 1000+50)    // exactly in the middle
	c.asked(200, 210, 1000+203) // two off, by a short trip
	c.asked(300, 800, 2000)
	if best := c.best(); best.ahead != 998 || best.bound != 5 {
		t.Errorf("best %+v", best)
	}
	for range offsetsKept {
		c.asked(0, 1000, 7500)
	}
	if best := c.best(); best.ahead != 7000 || len(c.recent) != offsetsKept {
		t.Errorf("the old ones are kept: %+v of %d", best, len(c.recent))
	}
}

func TestLongestGap(t *testing.T) {
	for _, c := range []struct {
		ticks []int64
		want  int64
	}{
		{nil, 10},
		{[]int64{9, 21}, 10},
		{[]int64{10, 11, 12, 17, 20}, 5},
		{[]int64{16}, 6},
		{[]int64{12, 14, 16}, 4},
	} {
		if got := longestGap(c.ticks, 10, 20); int64(got) != c.want {
			t.Errorf("of %v from 10 to 20: %d, want %d", c.ticks, got, c.want)
		}
	}
}
