package attacker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A Server attacks as it is told by whoever has its token.
type Server struct {
	token    [sha256.Size]byte
	instance string
	clock    clock
	cpus     int // before the event loops' own are added
	mux      *http.ServeMux
	slot     slot
}

// NewServer returns a server without an attack. The token must not be empty.
// Close ends its attack.
func NewServer(token string) (*Server, error) { return newServer(token, 0) }

// newServer makes one whose clock is ahead of the system's.
func newServer(token string, ahead time.Duration) (*Server, error) {
	if token == "" {
		return nil, errors.New("an attacker without a token would attack for anybody")
	}
	s := &Server{token: sha256.Sum256([]byte(token)), instance: rand.Text(), clock: newClock(ahead), cpus: runtime.GOMAXPROCS(0), mux: http.NewServeMux()}
	s.slot.init()
	s.mux.HandleFunc("GET "+clockPath, s.serveClock)
	s.mux.HandleFunc("GET "+statePath, s.serveState)
	s.mux.HandleFunc("GET "+resultPath, s.serveResult)
	s.mux.HandleFunc("POST "+preparePath, s.servePrepare)
	s.mux.HandleFunc("POST "+startPath, s.serveStart)
	s.mux.HandleFunc("POST "+markPath, s.serveMark)
	s.mux.HandleFunc("POST "+stopPath, s.serveStop)
	s.mux.HandleFunc("POST "+resetPath, s.serveReset)
	return s, nil
}

// Close stops the attack, if there is one, and waits for its end: for its last
// answers, or until the context ends.
func (s *Server) Close(ctx context.Context) error { return s.slot.reset(ctx) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(instanceHeader, s.instance)
	if r.URL.Path == HealthPath {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !s.authorized(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, errors.New("the token is missing or wrong"))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// authorized compares hashes, so that not even the token's length takes time.
func (s *Server) authorized(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got := sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(got[:], s.token[:]) == 1
}

func (s *Server) serveClock(w http.ResponseWriter, _ *http.Request) {
	answer(w, reading{s.clock.now()})
}

// longestWait bounds how long a question for the state may take.
const longestWait = time.Minute

// serveState answers when the attack has ended, at once without ?wait=SECONDS.
func (s *Server) serveState(w http.ResponseWriter, r *http.Request) {
	if text := r.FormValue("wait"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0 && seconds <= longestWait.Seconds()) {
			refuse(w, http.StatusBadRequest, fmt.Errorf("wait %q: want seconds from 0 to %v", text, longestWait.Seconds()))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds*float64(time.Second)))
		defer cancel()
		s.slot.waitForEnd(ctx)
	}
	answer(w, s.state())
}

func (s *Server) state() state {
	st := s.slot.state()
	st.CPUs = s.cpus
	return st
}

func (s *Server) servePrepare(w http.ResponseWriter, r *http.Request) {
	var in prepareRequest
	if !read(w, r, optionsBody, &in) {
		return
	}
	if in.Attack == "" {
		refuse(w, http.StatusBadRequest, errors.New("attack: an ID is missing"))
		return
	}
	if err := in.Options.Validate(); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	// It goes on if the client does not wait: a reset ends it.
	s.finish(w, s.slot.prepare(context.WithoutCancel(r.Context()), in))
}

func (s *Server) serveStart(w http.ResponseWriter, r *http.Request) {
	var in startRequest
	if read(w, r, smallBody, &in) {
		s.finish(w, s.slot.start(in.Attack, s.clock.instant(in.At)))
	}
}

func (s *Server) serveMark(w http.ResponseWriter, r *http.Request) {
	var in markRequest
	if read(w, r, smallBody, &in) {
		s.finish(w, s.slot.mark(in.Attack, in.Window, in.At))
	}
}

func (s *Server) serveStop(w http.ResponseWriter, r *http.Request) {
	var in stopRequest
	if read(w, r, smallBody, &in) {
		s.finish(w, s.slot.stop(in.Attack))
	}
}

// serveReset answers when the attack has ended. Its result is gone then.
func (s *Server) serveReset(w http.ResponseWriter, r *http.Request) {
	s.finish(w, s.slot.reset(r.Context()))
}

func (s *Server) serveResult(w http.ResponseWriter, r *http.Request) {
	result, err := s.slot.result(r.FormValue("attack"))
	if err != nil {
		refuse(w, http.StatusConflict, err)
		return
	}
	answer(w, resultAnswer{r.FormValue("attack"), result})
}

// finish answers with the state, or says why not.
func (s *Server) finish(w http.ResponseWriter, err error) {
	if err != nil {
		refuse(w, http.StatusConflict, err)
		return
	}
	answer(w, s.state())
}

// read decodes the request's body, or refuses it.
func read(w http.ResponseWriter, r *http.Request, limit int64, into any) bool {
	if err := decode(r.Body, limit, into); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("%s: %w", r.URL.Path, err))
		return false
	}
	return true
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Whoever is gone reads no reason.
	_ = json.NewEncoder(w).Encode(refusal{err.Error()})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		// The client sees that the answer is cut.
		panic(http.ErrAbortHandler)
	}
}
