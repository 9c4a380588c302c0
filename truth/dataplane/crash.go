package dataplane

import (
	"context"
	"time"
)

// restart is how long a replica is away that crashed without a process of its
// own.
const restart = time.Second

// crash ends all that the replica serves, as the end of its process would, and
// waits until it may start again. The error is that the context ended.
func (r *Replica) crash(ctx context.Context) error {
	if r.options.Crash != nil {
		r.options.Crash()
	}
	r.cut()
	return pause(ctx, restart)
}

// cut ends all that is served.
func (r *Replica) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for number, s := range r.servers {
		_ = s.connections.Close() // the server may not know it yet
		if s.http != nil {
			_ = s.http.Close() // whoever is cut off notices
		}
		s.connections.drop()
		delete(r.servers, number)
	}
	r.table.Store(&table{})
	r.force = Force{}
}
