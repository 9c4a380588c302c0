package echo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/gatemark/gatemark/echo/fault"
)

// adminHandler serves /counters, /faults, /events, /metrics, /healthz and
// /readyz. It is apart from the port for requests so that asking changes no
// count and suffers no fault.
func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Counters()) })
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.events.Streams()) })
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Faults()) })
	mux.HandleFunc("PUT /faults", s.changeFaults(func(_, body []byte) ([]byte, error) { return body, nil }))
	mux.HandleFunc("PATCH /faults", s.changeFaults(jsonpatch.MergePatch))
	mux.HandleFunc("DELETE /faults", s.changeFaults(func(_, _ []byte) ([]byte, error) { return []byte("{}"), nil }))
	mux.Handle("GET /metrics", s.metrics())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
	return mux
}

// maxFaults bounds what is read of a description of faults, in bytes.
const maxFaults = 1 << 20

// changeFaults puts in force what becomes of the old faults and a request's
// body, and answers with the new faults, defaults filled in.
func (s *Server) changeFaults(change func(old, body []byte) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFaults))
		if err == nil {
			err = s.changeFaultsTo(change, body)
		}
		if errors.Is(err, errGone) {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		writeJSON(w, s.Faults())
	}
}

func (s *Server) changeFaultsTo(change func(old, body []byte) ([]byte, error), body []byte) error {
	s.changing.Lock() // so that no patch gets lost between reading and writing
	defer s.changing.Unlock()
	old, err := json.Marshal(s.Faults())
	if err != nil {
		return err
	}
	text, err := change(old, body)
	if err != nil {
		return fmt.Errorf("patch faults: %w", err)
	}
	f, err := fault.Decode(text)
	if err != nil {
		return err
	}
	return s.SetFaults(f)
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	// An error is the client's going away.
	_ = json.NewEncoder(w).Encode(value)
}
