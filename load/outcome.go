package load

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

// drop counts a request that was due and is not sent any more.
func (l *loop) drop(p pending) {
	p.tally.open--
	p.tally.counts[Unsent]++
	if l.records != nil {
		l.records.add(l, &exchange{request: p.request, number: p.number, due: p.due, sent: -1}, Unsent, nil)
	}
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
