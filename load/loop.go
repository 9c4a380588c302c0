package load

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gatemark/gatemark/load/poll"
)

// never is an instant that does not come.
const never = int64(math.MaxInt64)

// lateAfter is how late a request may be sent, in nanoseconds, before it
// counts as late.
const lateAfter = int64(time.Millisecond)

// A poller moves bytes between the loop's connections and the kernel. It calls
// the loop's methods for what happens, from wait. Only the loop's thread calls
// it, but for wake.
type poller interface {
	// connect begins to connect c.fd; c.connected takes the outcome.
	connect(c *conn, to *sockaddr) error
	// send begins to send c.sending; quiet ones are over at once unless they
	// fail. Others end with c.sent.
	send(c *conn, quiet bool) error
	// disconnect closes c.fd. Nothing more comes of it.
	disconnect(c *conn)
	// submit hands to the kernel what was begun.
	submit() error
	// wait submits, and waits until something happens or for the time given.
	wait(timeout time.Duration) error
	// batch is how many requests may be begun before they are submitted.
	batch() int
	wake() error
	close() error
}

// A loop is one thread of an attack: its connections, its part of the
// schedule, what it has counted. Only that thread touches it.
type loop struct {
	attack  *attack
	options *Options
	index   int
	poller  poller
	lanes   []*lane
	conns   []*conn
	resting queue[*conn] // closed after a failure, not to be used at once

	now      int64 // of this turn, since the attack's epoch
	begin    int64 // of the schedule; never until it is known
	deadline int64 // when a closed loop sends no more
	timeout  int64
	fresh    float64
	source   int

	arrivals *Arrivals
	next     pending // of the schedule
	more     bool    // there is one
	sent     uint64  // requests of a closed loop

	first, last *exchange // under way, in the order of their deadlines
	flying      int
	spare       *exchange // for reuse
	stamp       []*exchange
	dirty       []*conn // with something to send
	flushed     []*conn // the list before, for reuse
	flushing    bool

	marks   *[]Mark
	tallies []*tally
	// settled is the instant before which all that was due is counted.
	settled atomic.Int64
	records *recording

	counters
	connect, handshake *Histogram
	stamped            bool // answers' instants are the kernel's
	wall               wall
	quiet              bool // small requests need no completion
	feeds              [][]byte
	heads              lastHead
	scratch            []byte
	opening            int   // connections still to be opened, or failed, before the start
	ended              int64 // when the loop was done
	cpu                time.Duration
	failure            error
}

// counters are totals of one loop over the whole attack.
type counters struct {
	bytesIn, bytesOut int64
	opened, resumed   int64
	idleCloses        int64
	unasked           int64 // connections that were closed for bytes that nobody asked for
	exhausted         int64 // out of descriptors, ports or memory
}

func (l *loop) clock() int64 {
	l.now = int64(time.Since(l.attack.epoch))
	return l.now
}

// run is the thread.
func (l *loop) run() {
	// The thread is never unlocked: it ends with this goroutine, and what was
	// set on it ends with it.
	runtime.LockOSThread()
	defer l.attack.wait.Done()
	poll.Sharpen()
	// The thread keeps its processor while it sleeps.
	poll.AddProcessor()
	defer poll.RemoveProcessor()
	var err error
	if l.poller, err = newPoller(l.options.Engine, l); err != nil {
		l.attack.ready <- err
		return
	}
	l.attack.setPoller(l.index, l.poller)
	l.failure = l.serve()
	l.attack.setPoller(l.index, nil)
	l.failure = errors.Join(l.failure, l.poller.close())
	if l.failure != nil {
		l.attack.fail(fmt.Errorf("thread %d: %w", l.index, l.failure))
	}
}

// serve opens the connections, waits for the start, and attacks.
func (l *loop) serve() error {
	l.clock()
	l.opening = len(l.conns)
	for _, c := range l.conns {
		c.open()
	}
	told := false
	for !l.over() {
		if l.opening == 0 && !told {
			told = true
			l.attack.ready <- nil
		}
		l.turn()
		if err := l.flush(); err != nil {
			return err
		}
		if err := l.poller.wait(l.patience()); err != nil {
			return err
		}
		l.clock()
	}
	if !told {
		l.attack.ready <- errors.New("stopped")
	}
	return l.finishUp()
}

// turn does what is due.
func (l *loop) turn() {
	if l.begin == never {
		if at := l.attack.begin.Load(); at != never {
			l.begins(at)
		}
	}
	l.learnMarks()
	if l.stamped {
		l.wall.check(l.attack.epoch, l.now)
	}
	for l.first != nil && l.first.deadline <= l.now {
		l.timeOut(l.first)
	}
	for l.resting.length() > 0 && l.resting.front().rested <= l.now {
		c := l.resting.pop()
		c.lane.offer(c)
	}
	l.schedule()
	if len(l.tallies) > 1 && l.tallies[0].end <= l.now {
		l.handIn(l.now)
	}
}

// patience is how long the loop may sleep; below 0 is for ever.
func (l *loop) patience() time.Duration {
	until := never
	if l.begin != never && !l.attack.stopped.Load() {
		switch end := l.end(); {
		case l.now < l.begin:
			until = l.begin
		case l.more:
			until = l.next.due
		case l.now < end:
			until = end
		}
	}
	if l.first != nil {
		until = min(until, l.first.deadline)
	}
	if l.resting.length() > 0 {
		until = min(until, l.resting.front().rested)
	}
	if until == never {
		return -1
	}
	left := until - int64(time.Since(l.attack.epoch))
	return time.Duration(max(left-int64(l.options.Spin), 0))
}

// over reports whether nothing is left to do.
func (l *loop) over() bool {
	if l.attack.killed.Load() {
		return true
	}
	if l.flying > 0 || l.begin == never {
		return l.begin == never && l.attack.stopped.Load()
	}
	if l.options.Rate == nil {
		return l.now >= l.deadline || l.attack.stopped.Load() || l.options.Requests > 0 && l.sent*uint64(l.options.Threads)+uint64(l.index) >= l.options.Requests
	}
	return (!l.more || l.attack.stopped.Load()) && l.waiting() == 0
}

// finishUp counts what was never sent and closes the connections.
func (l *loop) finishUp() error {
	if l.begin != never {
		l.cpu, l.ended = threadCPU()-l.cpu, l.clock()
	}
	for _, a := range l.lanes {
		for a.due.length() > 0 {
			l.drop(a.due.pop())
		}
	}
	for l.more && !l.attack.stopped.Load() {
		l.advance()
	}
	for _, c := range l.conns {
		c.close()
	}
	l.handIn(never)
	if l.records != nil {
		l.records.flush()
	}
	return l.poller.submit()
}

// buffer returns an empty buffer for a TLS connection's bytes.
func (l *loop) buffer() []byte {
	if n := len(l.feeds); n > 0 {
		b := l.feeds[n-1]
		l.feeds = l.feeds[:n-1]
		return b[:0]
	}
	return nil
}

func (l *loop) giveBack(s *secure) { l.feeds = append(l.feeds, s.feed) }

func newLoop(a *attack, index int) *loop {
	l := &loop{
		attack: a, options: &a.options, index: index, begin: never, deadline: never,
		timeout: int64(a.options.Timeout), fresh: a.options.Fresh, marks: a.marks.Load(),
		connect: NewHistogram(), handshake: NewHistogram(),
		quiet:   a.options.Protocol == HTTP1,
		stamped: a.options.ReceiveTime == KernelTime,
		scratch: make([]byte, 16<<10),
		source:  index,
	}
	if a.options.Records != nil {
		l.records = newRecording(a.options.Records, a.options.RecordBatch)
	}
	return l
}

func newLanes(l *loop, base *tls.Config) {
	for i := range l.attack.endpoints {
		e := &l.attack.endpoints[i]
		a := &lane{loop: l, endpoint: e, tls: l.options.TLS.forEndpoint(base, e)}
		for _, address := range e.addresses {
			a.addresses = append(a.addresses, newSockaddr(address))
		}
		l.lanes = append(l.lanes, a)
	}
}
