package dataplane

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// wrong is what a replica must know to make things wrong, and what it counted
// of that.
type wrong struct {
	requests, matches atomic.Int64
	slot              atomic.Int64 // when the last request has its turn, in ns since 1970
	refused, overload atomic.Int64 // the same of the limits on what comes in a second
	stalled           atomic.Int64 // until when nothing is served, in ns since 1970
	busy              atomic.Int64 // how long requests were kept on purpose, in ns
	injected          fault.Tally
	// ejected is what all routes know of endpoints, and ejections what there was
	// of that.
	ejected ejected
	ejections
	stalls stalls
}

// Requests is how many requests came in so far.
func (r *Replica) Requests() int64 { return r.wrong.requests.Load() }

// Injected is how many requests each fault has hit so far, by its name.
func (r *Replica) Injected() map[string]int64 { return r.wrong.injected.All() }

// Busy is how long the fault latency has kept requests so far, all together: a
// little longer than it was asked to, where the CPU was taken away meanwhile.
func (r *Replica) Busy() time.Duration { return time.Duration(r.wrong.busy.Load()) }

// A life is what faults must know of one generation of a route on a replica.
type life struct {
	began time.Time
	// served is when a request first matched.
	served atomic.Pointer[time.Time]
	// before is the table that was in force before it, as long as the route may
	// go back to it.
	before  atomic.Pointer[table]
	ejected ejected
}

// live gives each route its life as the table comes into force: routes that
// stay as they are go on with theirs. Old tables are kept only where routes may
// go back to them.
func (t *table) live(before *table, now time.Time, keep bool) {
	for route, generation := range t.routes {
		if known, ok := before.routes[route]; ok && known == generation {
			t.lives[route] = before.lives[route]
			continue
		}
		t.lives[route] = &life{began: now}
		if keep {
			t.lives[route].before.Store(before)
		}
	}
	for _, p := range t.ports {
		for _, l := range p.listeners {
			for _, rule := range l.rules {
				rule.life = t.lives[rule.route]
			}
		}
	}
}

// spoil does with a visit what faults want, and tells whether that was all.
func (r *Replica) spoil(v visit) bool {
	f, n := r.options.Faults.Now(), r.wrong.requests.Add(1)
	switch {
	case f.Dead(n):
		r.wrong.injected.Add("deadAfter")
		v.hold()
		return true
	case f.Drops(n):
		r.wrong.injected.Add("dropEvery")
		v.reset()
		return true
	case f.Refuses(n):
		r.wrong.injected.Add("errorEvery")
		v.refuse(http.StatusServiceUnavailable)
		return true
	}
	if r.overloaded(v, f) {
		return true
	}
	if wait := f.Hangs(n); wait > 0 {
		r.wrong.injected.Add("hangEvery")
		_ = pause(v.context(), wait) // whoever gave up needs no answer
	}
	r.slow(v.context(), f)
	return false
}

// spoilMatch does with a visit that a rule matches what faults want, and tells
// whether that was all.
func (r *Replica) spoilMatch(v visit, p *port, l *listener, matched *rule) bool {
	f, n, now := r.options.Faults.Now(), r.wrong.matches.Add(1), time.Now()
	if f.Warms(now.Sub(matched.life.began)) {
		r.wrong.injected.Add("errorsOnChange")
		v.refuse(http.StatusServiceUnavailable)
		return true
	}
	if old := matched.life.relapse(f, now); old != nil {
		r.wrong.injected.Add("flaps")
		r.serveOld(v, p.number, old)
		return true
	}
	if !f.Misroutes(n) {
		return false
	}
	other := l.other(matched, n)
	if other == nil {
		return false
	}
	r.wrong.injected.Add("misroute")
	v.apply(p, other)
	return true
}

// relapse returns the table that a route goes back to, or nil. The request that
// is the first to match it is served.
func (life *life) relapse(f fault.Faults, now time.Time) *table {
	old := life.before.Load()
	if old == nil || life.served.CompareAndSwap(nil, &now) {
		return nil
	}
	if f.Relapses(now.Sub(*life.served.Load())) {
		return old
	}
	life.before.Store(nil)
	return nil
}

// serveOld serves a visit as an old table wants it.
func (r *Replica) serveOld(v visit, number int32, old *table) {
	q := v.query()
	if p := old.ports[number]; p != nil {
		if l := p.listener(q.host); l != nil {
			if e := l.find(q); e != nil {
				v.apply(p, e.rule)
				return
			}
		}
	}
	v.refuse(http.StatusNotFound)
}

// other is a rule of another route, in turn, or nil.
func (l *listener) other(than *rule, n int64) *rule {
	for i := range l.rules {
		if other := l.rules[(int(n)+i)%len(l.rules)]; other.route != than.route {
			return other
		}
	}
	return nil
}

// reset ends a request's connection without an answer: of HTTP/1.1 with a
// reset, of HTTP/2 its stream.
func reset(w http.ResponseWriter) {
	open, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // what net/http ends a stream for
	}
	abort(open)
}
