package load

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
	x.late = l.now - ready
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

// end is when the schedule, or the time of a closed loop, is over.
func (l *loop) end() int64 {
	if l.options.Rate != nil {
		return l.begin + int64(l.options.Rate.Duration())
	}
	return l.deadline
}

func (l *loop) waiting() int {
	n := 0
	for _, a := range l.lanes {
		n += a.due.length()
	}
	return n
}
