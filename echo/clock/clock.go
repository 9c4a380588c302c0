// Package clock waits to a few microseconds. Go's own timers end up to a
// millisecond late in an idle process, because the poller that they share
// waits in whole milliseconds; a timerfd in that same poller does not.
package clock

import (
	"container/heap"
	"os"
	"runtime"
	"sync"
	"time"
)

// spin is how long the shortest waits are spent awake: a sleep this short
// would last several times as long.
const spin = 30 * time.Microsecond

// An idle processor takes its time to wake up, on a virtual machine 100 us. So
// the clock gets up this much early and spends the rest awake, but for at most
// a share of the time: where much is due, processors are not idle anyway.
const (
	lead       = 100 * time.Microsecond
	awakeShare = 8 // one part in so many
	awakeMost  = 10 * time.Millisecond
)

// A Clock wakes those who wait, from one descriptor and one goroutine.
type Clock struct {
	timer *os.File
	fd    int

	mu      sync.Mutex
	waiters queue
	armed   time.Time     // the zero time for not
	awake   time.Duration // that may still be spent
	granted time.Time     // when awake last grew
	closed  bool
	done    chan struct{}
}

// A waiter sits in the heap until it is woken or gives up.
type waiter struct {
	until time.Time
	place int // in the heap, -1 outside
	wake  chan struct{}
}

var waiters = sync.Pool{New: func() any { return &waiter{wake: make(chan struct{}, 1)} }}

// New starts a clock.
func New() (*Clock, error) {
	fd, err := newTimer()
	if err != nil {
		return nil, err
	}
	c := &Clock{timer: os.NewFile(uintptr(fd), "timer"), fd: fd, done: make(chan struct{})}
	go c.run()
	return c, nil
}

// Close ends the clock. Those who still wait are woken at once.
func (c *Clock) Close() error {
	c.mu.Lock()
	c.closed = true
	for len(c.waiters) > 0 {
		heap.Pop(&c.waiters).(*waiter).wake <- struct{}{}
	}
	c.mu.Unlock()
	err := c.timer.Close()
	<-c.done
	return err
}

// Wait returns true at the given instant, or false as soon as cancel is closed
// or the clock is.
func (c *Clock) Wait(until time.Time, cancel <-chan struct{}) bool {
	if time.Until(until) < spin {
		for time.Now().Before(until) {
		}
		return true
	}
	w := waiters.Get().(*waiter)
	defer waiters.Put(w)
	w.until = until
	if !c.add(w) {
		return false
	}
	select {
	case <-w.wake:
		return !time.Now().Before(until)
	case <-cancel:
		c.remove(w)
		return false
	}
}

func (c *Clock) add(w *waiter) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	heap.Push(&c.waiters, w)
	c.arm()
	return true
}

// remove takes a waiter out that gives up, and its wake-up if that came first.
func (c *Clock) remove(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.place >= 0 {
		heap.Remove(&c.waiters, w.place)
		return
	}
	<-w.wake
}

// arm sets the timer for the first waiter, where it is not yet.
func (c *Clock) arm() {
	if len(c.waiters) == 0 {
		return
	}
	if first := c.waiters[0].until; c.armed.IsZero() || first.Before(c.armed) {
		c.armed = first
		setTimer(c.fd, time.Until(first)-lead)
	}
}

func (c *Clock) run() {
	defer close(c.done)
	var expirations [8]byte
	for {
		if _, err := c.timer.Read(expirations[:]); err != nil {
			return // closed
		}
		for c.next() {
		}
	}
}

// next wakes who is due, and returns whether it has slept until somebody else
// is.
func (c *Clock) next() bool {
	c.mu.Lock()
	now := time.Now()
	c.armed = time.Time{}
	for len(c.waiters) > 0 && !now.Before(c.waiters[0].until) {
		heap.Pop(&c.waiters).(*waiter).wake <- struct{}{}
	}
	c.awake = min(awakeMost, c.awake+now.Sub(c.granted)/awakeShare)
	c.granted = now
	if c.closed || len(c.waiters) == 0 {
		c.mu.Unlock()
		return false
	}
	until := c.waiters[0].until
	left := until.Sub(now)
	if left > lead {
		c.arm()
		c.mu.Unlock()
		return false
	}
	if c.awake < left {
		c.armed = until
		setTimer(c.fd, left)
		c.mu.Unlock()
		return false
	}
	c.awake -= left
	c.mu.Unlock()
	for time.Now().Before(until) {
		runtime.Gosched()
	}
	return true
}

// A queue is a heap of waiters, the first to wake in front.
type queue []*waiter

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].until.Before(q[j].until) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *queue) Push(x any) {
	w := x.(*waiter)
	w.place = len(*q)
	*q = append(*q, w)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	w.place = -1
	return w
}
