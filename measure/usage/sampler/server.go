package sampler

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gatemark/gatemark/measure/usage/reading"
)

// nowLimit bounds how long a sample at once may take.
const nowLimit = 5 * time.Second

// ServeHTTP implements http.Handler.
func (s *Sampler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case reading.HealthPath:
		w.WriteHeader(http.StatusNoContent)
	case reading.ReadingsPath:
		if !s.authorized(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
			return
		}
		s.serveReadings(w, r)
	default:
		http.NotFound(w, r)
	}
}

// authorized compares hashes, so that not even the token's length takes time.
func (s *Sampler) authorized(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.options.Token))
	return ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

func (s *Sampler) serveReadings(w http.ResponseWriter, r *http.Request) {
	var numbers [2]int
	for i, name := range []string{"since", "groups"} {
		if text := r.FormValue(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				http.Error(w, fmt.Sprintf("%s %q: want a number", name, text), http.StatusBadRequest)
				return
			}
			numbers[i] = n
		}
	}
	if r.FormValue("instance") != s.instance {
		numbers = [2]int{}
	}
	if r.FormValue("now") == "true" {
		ctx, cancel := context.WithTimeout(r.Context(), nowLimit)
		defer cancel()
		if err := s.sampleNow(ctx); err != nil {
			http.Error(w, "sample: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	a := reading.Answer{Instance: s.instance, Version: s.tree.Version, Interval: int64(s.options.Interval)}
	s.log.since(&a, numbers[0], numbers[1])
	// As late as can be: the asker takes it for the middle of the way.
	a.Now = s.clock()
	text, err := json.Marshal(a)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the asker sees that the answer is cut
}
