package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gatemark/gatemark/truth/config"
)

// Path is where Handler answers.
const Path = "/config"

// pollLimit is how long a poll waits before it comes back empty-handed.
const pollLimit = 20 * time.Second

// Handler serves the feed to replicas in other processes.
func (f *Feed) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, err := strconv.ParseInt(r.FormValue("version"), 10, 64)
		if err != nil || r.FormValue("gateway") == "" {
			http.Error(w, "needs gateway and version", http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), pollLimit)
		defer cancel()
		snapshot, err := f.For(r.FormValue("gateway")).Next(ctx, version)
		if err != nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// A replica that went away asks again: there is nobody to tell.
		_ = json.NewEncoder(w).Encode(snapshot)
	})
}

// Remote is the source of a replica in a process of its own.
type Remote struct {
	// Control is the control plane: http://host:port.
	Control string
	Gateway string
	// Client may be nil.
	Client *http.Client
}

// Next asks until there is another version. The error is of one request;
// whoever waits calls again.
func (r Remote) Next(ctx context.Context, version int64) (*config.Snapshot, error) {
	for {
		snapshot, err := r.poll(ctx, version)
		if snapshot != nil || err != nil {
			return snapshot, err
		}
	}
}

func (r Remote) poll(ctx context.Context, version int64) (*config.Snapshot, error) {
	// A connection that died without a word must not hold the replica for ever.
	ctx, cancel := context.WithTimeout(ctx, pollLimit+10*time.Second)
	defer cancel()
	query := url.Values{"gateway": {r.Gateway}, "version": {strconv.FormatInt(version, 10)}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Control+Path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	client := r.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for the configuration of gateway %s: %w", r.Gateway, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusNoContent:
		return nil, nil
	case http.StatusOK:
		snapshot := new(config.Snapshot)
		if err := json.NewDecoder(response.Body).Decode(snapshot); err != nil {
			return nil, fmt.Errorf("read the configuration of gateway %s: %w", r.Gateway, err)
		}
		return snapshot, nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	return nil, errors.Join(fmt.Errorf("ask for the configuration of gateway %s: status %d: %s", r.Gateway, response.StatusCode, text), err)
}
