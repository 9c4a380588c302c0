package load

import "time"

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
	c.rested = l.now
	if l.options.Rate == nil {
		c.rested += restAfter
	}
	// Not here: a request that waits for it could fail as well, and the next.
	l.resting.push(c)
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
	if l.flushing {
		return nil // what is new is the outer one's
	}
	l.flushing = true
	for len(l.dirty) > 0 {
		l.stampAll()
		dirty := l.dirty
		l.dirty, l.flushed = l.flushed[:0], dirty
		for _, c := range dirty {
			c.dirty = false
			c.flush()
		}
	}
	l.flushing = false
	return l.poller.submit()
}

// stampAll notes when requests are sent: now.
func (l *loop) stampAll() {
	now := l.clock()
	for _, x := range l.stamp {
		if x.conn == nil || x.sent == now {
			// Its connection failed before anything was sent; it may be another
			// request already, which stands in the list again.
			continue
		}
		x.sent = now
		if l.options.Rate == nil {
			x.due = now
		} else if x.ready != never {
			if x.late = now - x.ready; x.late > lateAfter {
				x.tally.late++
			}
		}
	}
	l.stamp = l.stamp[:0]
}
