package dataplane

import (
	"context"
	"net/http"
)

// A visit is what came in at a port: a request, or a connection that is passed
// through. What is done with it, right or wrong, is done with either.
type visit interface {
	context() context.Context
	query() *query
	// misdirected reports whether its connection belongs to another listener
	// than the one found for it.
	misdirected(p *port, l *listener) bool
	// apply does what a rule says.
	apply(p *port, rule *rule)
	// refuse answers in place of a backend.
	refuse(status int)
	// reset ends it without an answer.
	reset()
	// hold leaves it without an answer until its client gives up.
	hold()
}

// receive does with a visit to a port what the configuration wants.
func (r *Replica) receive(v visit, number int32) {
	if r.spoil(v) {
		return
	}
	if p := r.table.Load().ports[number]; p != nil {
		r.serve(v, p)
		return
	}
	v.refuse(http.StatusNotFound) // the port is being closed
}

func (r *Replica) serve(v visit, p *port) {
	q := v.query()
	l := p.listener(q.host)
	if l == nil {
		v.refuse(http.StatusNotFound)
		return
	}
	if v.misdirected(p, l) {
		v.refuse(http.StatusMisdirectedRequest)
		return
	}
	e := l.find(q)
	if e == nil {
		v.refuse(http.StatusNotFound)
		return
	}
	if !r.spoilMatch(v, p, l, e.rule) {
		v.apply(p, e.rule)
	}
}
