package dataplane

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// A Force is what a replica has in force, and since when, by its own clock:
// the truth that measurements are held against.
type Force struct {
	Version int64     `json:"version"`
	Since   time.Time `json:"since"`
	// Routes are those that it serves, by namespace/name.
	Routes map[string]RouteForce `json:"routes"`
}

// A RouteForce is when a generation of a route came into force: not before
// Since, and it was by By. Between the two lies a swap of a pointer; and an
// operating system that let others run in the middle of it.
type RouteForce struct {
	Generation int64     `json:"generation"`
	Since      time.Time `json:"since"`
	By         time.Time `json:"by"`
}

// next is what is in force once a table is, which came to be between two
// instants. Routes that stay as they are have been so all along.
func (f Force) next(t *table, since, by time.Time) Force {
	next := Force{Version: t.version, Since: since, Routes: make(map[string]RouteForce, len(t.routes))}
	for route, generation := range t.routes {
		known, ok := f.Routes[route]
		if !ok || known.Generation != generation {
			known = RouteForce{generation, since, by}
		}
		next.Routes[route] = known
	}
	return next
}

// Force tells what is in force.
func (r *Replica) Force() Force {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.force
}

// Wait waits until a version or a later one is in force.
func (r *Replica) Wait(ctx context.Context, version int64) error {
	for {
		r.mu.Lock()
		now, changed := r.force.Version, r.changed
		r.mu.Unlock()
		if now >= version {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Admin tells about the replica over HTTP: /readyz, and as JSON /force and
// /injected.
func (r *Replica) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if r.draining.Load() || r.Force().Version == 0 {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/force", func(w http.ResponseWriter, _ *http.Request) { tell(w, r.Force()) })
	mux.HandleFunc("/injected", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, struct {
			Requests int64            `json:"requests"`
			Injected map[string]int64 `json:"injected"`
		}{r.Requests(), r.Injected()})
	})
	return mux
}

func tell(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	// Whoever asked and went away does not miss the answer.
	_ = json.NewEncoder(w).Encode(what)
}
