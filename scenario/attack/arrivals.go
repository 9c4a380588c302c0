package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Arrivals are what backends have counted.
type Arrivals struct {
	Accepted int64 `json:"accepted"` // connections
	Requests int64 `json:"requests"`
}

// AdminPort is where backends tell what they have counted: see base.yaml.
const AdminPort = "8081"

// arrivals asks all backends.
func (p *Place) arrivals(ctx context.Context) (sum Arrivals, err error) {
	err = p.AskBackends(ctx, "/counters", func(answer *json.Decoder) error {
		var one Arrivals
		err := answer.Decode(&one)
		sum.Accepted += one.Accepted
		sum.Requests += one.Requests
		return err
	})
	return sum, err
}

// askLimit bounds how long all backends may take to answer.
const askLimit = 10 * time.Second

// AskBackends asks the admin port of each backend for something, one after the
// other.
func (p *Place) AskBackends(ctx context.Context, path string, read func(*json.Decoder) error) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for _, b := range p.Backends {
		address, _, err := net.SplitHostPort(b)
		if err == nil {
			err = ask(ctx, "http://"+net.JoinHostPort(address, AdminPort)+path, read)
		}
		if err != nil {
			return fmt.Errorf("ask backend %s for %s: %w", b, path, err)
		}
	}
	return nil
}

func ask(ctx context.Context, url string, read func(*json.Decoder) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return read(json.NewDecoder(response.Body))
}
