package load

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"runtime"
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
	dirty       []*conn

	marks   *[]Mark
	tallies []*tally
	records *recording

	counters
	connect, handshake *Histogram
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

// begins learns when the schedule begins.
func (l *loop) begins(at int64) {
	l.begin = at
	l.cpu = threadCPU()
	o := l.options
	if o.Rate == nil {
		l.deadline = never
		if o.Duration > 0 {
			l.deadline = at + int64(o.Duration)
		}
		return
	}
	l.arrivals = NewArrivals(o.Rate, o.Arrival, o.Seed, o.Part+o.Parts*l.index, o.Parts*o.Threads)
	l.advance()
}

// advance finds the next request that will be due.
func (l *loop) advance() {
	number, due, ok := l.arrivals.Next()
	if l.more = ok && (l.options.Requests == 0 || number < l.options.Requests); l.more {
		l.next = pending{number: number, due: l.begin + int64(due), request: l.attack.requestFor(number)}
	}
}

// schedule sends what is due. In a closed loop every connection that could
// carry a request does so already, but for those that were not open when it
// began.
func (l *loop) schedule() {
	switch {
	case l.begin == never || l.now < l.begin:
		return
	case l.options.Rate == nil:
		for _, a := range l.lanes {
			for c := a.take(l.now); c != nil; c = a.take(l.now) {
				p, ok := l.another(a)
				if !ok {
					return
				}
				l.start(c, p, l.now)
			}
		}
		return
	}
	for l.more && l.next.due <= l.now && !l.attack.stopped.Load() {
		p := l.next
		p.tally = l.tallyOf(p.due)
		p.tally.open++
		a := l.lanes[p.request.endpoint]
		l.expireDue(a)
		if c := a.take(l.now); c != nil && a.due.length() == 0 {
			l.start(c, p, p.due)
		} else {
			if c != nil {
				a.list(c)
			}
			p.tally.queued++
			a.due.push(p)
		}
		l.advance()
		if len(l.stamp) >= l.poller.batch() {
			// Those due later in this turn must not make these late.
			if l.flush() != nil {
				return // shows again at the end of the turn
			}
		}
	}
}

// expireDue drops requests that have waited too long to be sent.
func (l *loop) expireDue(a *lane) {
	for a.due.length() > 0 && l.now-a.due.front().due >= l.timeout {
		l.drop(a.due.pop())
	}
}

// another is the next request of a closed loop.
func (l *loop) another(a *lane) (pending, bool) {
	if l.begin == never || l.now < l.begin || l.now >= l.deadline || l.attack.stopped.Load() {
		return pending{}, false
	}
	number := l.sent*uint64(l.options.Threads) + uint64(l.index)
	if l.options.Requests > 0 && number >= l.options.Requests {
		return pending{}, false
	}
	l.sent++
	t := l.tallyOf(l.now)
	t.open++
	a.turn++
	o := l.options
	request := a.requests[(a.turn+l.index*len(a.requests)/o.Threads)%len(a.requests)]
	return pending{number*uint64(o.Parts) + uint64(o.Part), l.now, request, t}, true
}

// start gives a request to a connection.
func (l *loop) start(c *conn, p pending, ready int64) {
	x := l.spare
	if x == nil {
		x = &exchange{}
	} else {
		l.spare = x.next
	}
	x.request, x.number, x.due, x.ready, x.sent, x.tally = p.request, p.number, p.due, ready, l.now, p.tally
	x.deadline = l.now + l.timeout
	x.next, x.previous = nil, l.last
	if l.last == nil {
		l.first = x
	} else {
		l.last.next = x
	}
	l.last = x
	l.flying++
	c.carry(x)
}

// finish counts an exchange that has ended.
func (l *loop) finish(x *exchange, class Class, a *answer) {
	l.unlink(x)
	t := x.tally
	t.open--
	latency, service := l.now-x.due, l.now-x.sent
	t.record(class, latency, service)
	if a != nil {
		t.statuses[min(a.status, len(t.statuses)-1)]++
		if l.now <= l.end() {
			t.inTime++
		}
	}
	if l.records != nil {
		l.records.add(l, x, class, a)
	}
	*x = exchange{next: l.spare}
	l.spare = x
}

// end is when the schedule, or the time of a closed loop, is over.
func (l *loop) end() int64 {
	if l.options.Rate != nil {
		return l.begin + int64(l.options.Rate.Duration())
	}
	return l.deadline
}

func (l *loop) unlink(x *exchange) {
	if x.previous == nil {
		l.first = x.next
	} else {
		x.previous.next = x.next
	}
	if x.next == nil {
		l.last = x.previous
	} else {
		x.next.previous = x.previous
	}
	l.flying--
}

// drop counts a request that was due and is not sent any more.
func (l *loop) drop(p pending) {
	p.tally.open--
	p.tally.counts[Unsent]++
	if l.records != nil {
		l.records.add(l, &exchange{request: p.request, number: p.number, due: p.due, sent: -1}, Unsent, nil)
	}
}

// timeOut ends an exchange that has taken too long.
func (l *loop) timeOut(x *exchange) {
	c := x.conn
	if c.waiting == x {
		c.fail(errTimeout)
		return
	}
	out := &c.out
	if c.secure != nil {
		c.secure.plain = c.secure.plain[:0]
		out = &c.secure.plain
	}
	var alone bool
	if *out, alone = c.codec.forget(x, *out); !alone {
		c.fail(errTimeout)
		return
	}
	if c.secure != nil {
		c.encrypt()
	}
	c.flight--
	l.finish(x, Timeout, nil)
	l.soil(c)
	c.settle()
}

// abandon ends all that a connection carried.
func (l *loop) abandon(c *conn, class Class) {
	if c.flight == 0 {
		return
	}
	for x := l.first; x != nil && c.flight > 0; {
		next := x.next
		if x.conn == c && x != c.waiting {
			c.flight--
			l.finish(x, class, nil)
		}
		x = next
	}
}

// connectionReady is told of each connection that opened.
func (l *loop) connectionReady(*conn) { l.opening = max(l.opening-1, 0) }

// restAfter is how long a connection of a closed loop rests after it could not
// be opened: nothing else would slow the loop down.
const restAfter = int64(10 * time.Millisecond)

// retired is told of each connection that was closed after its last request.
func (l *loop) retired(c *conn) { l.reopen(c) }

// broken is told of each connection that failed.
func (l *loop) broken(c *conn, was connState, class Class) {
	if was != open {
		l.opening = max(l.opening-1, 0)
		if class == AddressExhausted || class == DescriptorsExhausted {
			l.exhausted++
		}
	}
	if was == open && c.carried > 0 {
		l.reopen(c)
		return
	}
	if l.options.Rate == nil {
		c.rested = l.now + restAfter
	}
	c.lane.offer(c)
}

// reopen opens a kept connection again, without waiting for a request. Where
// new connections are part of what is measured, the request waits.
func (l *loop) reopen(c *conn) {
	if l.fresh == 0 && l.begin != never && l.now < l.end() && !l.attack.stopped.Load() {
		c.open()
		return
	}
	c.lane.offer(c)
}

// soil notes that a connection has something to send.
func (l *loop) soil(c *conn) {
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
	if l.begin != never && len(l.stamp) >= l.poller.batch() {
		_ = l.flush() // shows again at the end of the turn
	}
}

// flush hands to the kernel what is to be sent, and notes when.
func (l *loop) flush() error {
	if len(l.dirty) == 0 {
		return nil
	}
	now := l.clock()
	for _, x := range l.stamp {
		x.sent = now
		if l.options.Rate == nil {
			x.due = now
		} else if now-x.ready > lateAfter {
			x.tally.late++
		}
	}
	l.stamp = l.stamp[:0]
	for _, c := range l.dirty {
		c.dirty = false
		c.flush()
	}
	l.dirty = l.dirty[:0]
	return l.poller.submit()
}

// patience is how long the loop may sleep.
func (l *loop) patience() time.Duration {
	until := never
	if l.begin != never {
		until = l.end()
		if l.now < l.begin {
			until = l.begin
		}
		if l.more {
			until = min(until, l.next.due)
		}
	}
	if l.first != nil {
		until = min(until, l.first.deadline)
	}
	if l.resting.length() > 0 {
		until = min(until, l.resting.front().rested)
	}
	if until == never || l.now >= until && l.more && l.attack.stopped.Load() {
		return -1
	}
	return time.Duration(max(until-int64(time.Since(l.attack.epoch)), 0))
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

func (l *loop) waiting() int {
	n := 0
	for _, a := range l.lanes {
		n += a.due.length()
	}
	return n
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
		scratch: make([]byte, 16<<10),
		source:  index,
	}
	if a.options.Records != nil {
		l.records = newRecording(a.options.Records)
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
