package clock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

func start(t *testing.T) *Clock {
	t.Helper()
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestNobodyWakesEarly(t *testing.T) {
	c := start(t)
	var wait sync.WaitGroup
	for range 500 {
		wait.Go(func() {
			until := time.Now().Add(time.Duration(rand.IntN(50_000)) * time.Microsecond)
			if !c.Wait(until, nil) || time.Now().Before(until) {
				t.Errorf("woken %v early", time.Until(until))
			}
		})
	}
	wait.Wait()
	if len(c.waiters) > 0 {
		t.Errorf("%d are left in the heap", len(c.waiters))
	}
}

func TestCancel(t *testing.T) {
	c := start(t)
	cancel := make(chan struct{})
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			if c.Wait(time.Now().Add(time.Hour+time.Duration(i)), cancel) {
				t.Error("an hour has passed")
			}
		})
	}
	// A later waiter that is due earlier must move the timer.
	if until := time.Now().Add(5 * time.Millisecond); !c.Wait(until, cancel) {
		t.Error("a short wait was cut")
	}
	close(cancel)
	wait.Wait()
	if len(c.waiters) > 0 {
		t.Errorf("%d are left in the heap", len(c.waiters))
	}
}

func TestCancelWhileDue(t *testing.T) {
	c := start(t)
	for range 2000 {
		cancel := make(chan struct{})
		due := time.Now().Add(40 * time.Microsecond)
		time.AfterFunc(40*time.Microsecond, func() { close(cancel) })
		c.Wait(due, cancel) // either is right; a stale wake-up would show below
	}
	until := time.Now().Add(3 * time.Millisecond)
	if !c.Wait(until, nil) || time.Now().Before(until) {
		t.Error("woken by an earlier wait's timer")
	}
}

func TestClose(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan bool)
	go func() { woken <- c.Wait(time.Now().Add(time.Hour), nil) }()
	for {
		c.mu.Lock()
		n := len(c.waiters)
		c.mu.Unlock()
		if n == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if <-woken || c.Wait(time.Now().Add(time.Hour), nil) {
		t.Error("a closed clock says that an hour has passed")
	}
}

// BenchmarkWait reports how late a wait ends, beside Go's own timers.
func BenchmarkWait(b *testing.B) {
	c, err := New()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for name, wait := range map[string]func(time.Time){
		"clock": func(until time.Time) { c.Wait(until, nil) },
		"sleep": func(until time.Time) { time.Sleep(time.Until(until)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var late []time.Duration
			for range b.N {
				until := time.Now().Add(1300 * time.Microsecond)
				wait(until)
				late = append(late, time.Since(until))
			}
			slices.Sort(late)
			for _, percent := range []int{50, 90, 99} {
				b.ReportMetric(float64(late[len(late)*percent/100])/1e3, fmt.Sprintf("p%d-us-late", percent))
			}
		})
	}
}
