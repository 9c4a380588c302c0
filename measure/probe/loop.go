package probe

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatemark/gatemark/load/poll"
)

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64)

// A loop is the prober's thread: all sockets, all lanes, and the inquiry under
// way. Only that thread touches them; others hand it functions. Its instants
// are times since epoch.
type loop struct {
	options Options
	poller  *poll.Poller
	// realtime is whether the thread runs before all ordinary ones.
	realtime bool
	epoch    time.Time
	lanes    []*lane
	conns    []*conn // a connection's place is its name in the poller

	inquiry *Inquiry
	began   time.Duration
	marked  bool
	t0      time.Duration
	cpu     time.Duration // of the thread, at t0

	next   time.Duration // when something is due
	expiry time.Duration // no probe runs out of time before this

	mu       sync.Mutex
	queue    []func()
	closing  bool
	finished chan struct{}
	failure  error
}

func newLoop(targets []Target, options Options) (*loop, error) {
	poller, err := poll.New()
	if err != nil {
		return nil, err
	}
	l := &loop{options: options, poller: poller, epoch: time.Now(), next: never, finished: make(chan struct{})}
	for _, kind := range []Connections{Kept, Fresh} {
		if options.Connections&kind == 0 {
			continue
		}
		for _, target := range targets {
			l.lanes = append(l.lanes, newLane(l, target, kind))
		}
	}
	go l.run()
	return l, nil
}

func (l *loop) now() time.Duration { return time.Since(l.epoch) }

// do hands f to the thread.
func (l *loop) do(f func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return ErrClosed
	}
	l.queue = append(l.queue, f)
	return l.poller.Wake()
}

func (l *loop) close() error {
	l.mu.Lock()
	if !l.closing {
		l.closing = true
		if err := l.poller.Wake(); err != nil {
			l.mu.Unlock()
			return fmt.Errorf("stop prober: %w", err)
		}
	}
	l.mu.Unlock()
	<-l.finished
	return l.failure
}

func (l *loop) run() {
	// The thread is never unlocked: it ends with this goroutine, and what was
	// set on it ends with it.
	runtime.LockOSThread()
	defer close(l.finished)
	poll.Sharpen()
	if l.options.Realtime {
		// Where the kernel refuses, a processor of its own still saves the
		// thread the wait for one.
		l.realtime = poll.BecomeRealtime()
		poll.AddProcessor()
		defer poll.RemoveProcessor()
		l.poller.Selfish = true
	}
	for {
		err := l.poller.Wait(l.next-l.now(), l.event)
		stop := l.takeQueue()
		if err != nil || stop {
			l.failure = errors.Join(err, l.shutDown())
			return
		}
		l.tick()
	}
}

// takeQueue runs what other goroutines have handed over, and reports whether
// it is time to stop.
func (l *loop) takeQueue() bool {
	l.mu.Lock()
	queue, stop := l.queue, l.closing
	l.queue = nil
	l.mu.Unlock()
	for _, f := range queue {
		f()
	}
	return stop
}

func (l *loop) shutDown() error {
	l.mu.Lock()
	l.closing = true // also when the loop failed by itself
	queue := l.queue
	l.queue = nil
	l.mu.Unlock()
	for _, f := range queue {
		f()
	}
	l.end(l.inquiry)
	for _, c := range l.conns {
		c.close()
	}
	return l.poller.Close()
}

// event takes what the poller has to say about one connection. Probes that
// have become due meanwhile go before the next event: they are the ones that
// lose by waiting. Timeouts come after all events: an answer that is there
// already is an answer, however late this thread looks at it.
func (l *loop) event(place int, tag uint32, flags uint32) {
	if c := l.conns[place]; c.tag == tag {
		c.event(flags)
	}
	if now := l.now(); now >= l.next && l.inquiry != nil {
		l.fire(now)
	}
}

// tick does what is due: timeouts, the end of the inquiry, probes. It sets
// next.
func (l *loop) tick() {
	now := l.now()
	if now >= l.expiry {
		l.expire(now)
	}
	if l.inquiry != nil && l.over(now) {
		l.end(l.inquiry)
	}
	l.next = never
	if l.inquiry != nil {
		if l.marked {
			l.next = l.t0 + l.options.Limit
		}
		l.fire(now)
	}
	if slices.ContainsFunc(l.conns, (*conn).busy) {
		l.next = min(l.next, l.expiry)
	}
}

// fire sends the probes that are due, and brings next forward to the one that
// is due after them.
func (l *loop) fire(now time.Duration) {
	for _, lane := range l.lanes {
		if lane.due <= now {
			lane.fire()
			now = l.now()
		}
	}
	for _, lane := range l.lanes {
		l.next = min(l.next, lane.due)
	}
}

// expire ends the probes that have run out of time. Each probe has the same
// time, so none that begins later runs out before the earliest now in flight.
func (l *loop) expire(now time.Duration) {
	l.expiry = now + l.options.Timeout
	for _, c := range l.conns {
		if !c.busy() {
			continue
		}
		if c.deadline <= now {
			c.timeOut(now)
		} else {
			l.expiry = min(l.expiry, c.deadline)
		}
	}
}

// begin starts an inquiry.
func (l *loop) begin(i *Inquiry) error {
	if l.inquiry != nil {
		return errors.New("another question is being asked: a prober asks one at a time")
	}
	l.inquiry, l.marked, l.began, l.t0, l.cpu = i, false, l.now(), 0, threadCPU()
	for _, lane := range l.lanes {
		lane.reset()
		lane.restart(l.began + l.offset(lane))
	}
	return nil
}

// offset sets the two kinds of connections half a step apart. All targets of
// one kind are probed in one go: most of a probe's cost is the thread's waking
// up, and spreading the targets over the step as well costs up to twice the
// processor time to make a probe some 20 us less late.
func (l *loop) offset(a *lane) time.Duration {
	if a.kind == Fresh && l.options.Connections == Both {
		return l.options.Step / 2
	}
	return 0
}

func (l *loop) mark(i *Inquiry, t0 time.Time) {
	if l.inquiry != i || l.marked {
		return
	}
	l.marked, l.t0, l.cpu = true, t0.Sub(l.epoch), threadCPU()
	for _, lane := range l.lanes {
		lane.marked()
		lane.restart(l.t0 + l.offset(lane))
	}
}

// over reports whether every lane has settled, or the limit has passed.
func (l *loop) over(now time.Duration) bool {
	if !l.marked {
		return false
	}
	if now >= l.t0+l.options.Limit {
		return true
	}
	for _, lane := range l.lanes {
		if !lane.settled(now) {
			return false
		}
	}
	return true
}

// end finishes an inquiry, with an outcome if it was marked.
func (l *loop) end(i *Inquiry) {
	if i == nil || l.inquiry != i {
		return
	}
	if l.marked {
		i.outcome = l.outcome(i)
	}
	l.inquiry = nil
	for _, lane := range l.lanes {
		lane.forget()
	}
	close(i.done)
}

func (l *loop) outcome(i *Inquiry) *Outcome {
	now := l.now()
	o := &Outcome{
		Question: i.question, Options: l.options,
		T0: l.epoch.Add(l.t0), Ended: l.epoch.Add(now), CPU: threadCPU() - l.cpu, Realtime: l.realtime,
	}
	for _, lane := range l.lanes {
		o.Lanes = append(o.Lanes, lane.outcome(now))
	}
	return o
}

// checkOld tells the inquiry when every lane shows the old state.
func (l *loop) checkOld() {
	for _, lane := range l.lanes {
		if lane.olds < l.options.OldAnswers {
			return
		}
	}
	select {
	case <-l.inquiry.old:
	default:
		close(l.inquiry.old)
	}
}

// missing says which lanes do not show the old state.
func (l *loop) missing(i *Inquiry) error {
	if l.inquiry != i {
		return ErrClosed
	}
	var problems []error
	for _, lane := range l.lanes {
		if lane.olds < l.options.OldAnswers {
			problems = append(problems, lane.notOld())
		}
	}
	return errors.Join(problems...)
}

// sawRight is called when a lane gives a right answer for the first time: a
// change is under way, and a close look at new connections pays.
func (l *loop) sawRight(at *lane) {
	anywhere, here := true, true
	for _, lane := range l.lanes {
		if lane == at || !lane.served {
			continue
		}
		anywhere = false
		if lane.target == at.target {
			here = false
		}
	}
	for _, lane := range l.lanes {
		if lane.kind == Fresh && lane.rights == 0 && (anywhere || here && lane.target == at.target) {
			lane.turn(l.now())
		}
	}
}

// threadCPU is the processor time that this thread has used.
func threadCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		return 0 // it cannot fail for the calling thread
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
