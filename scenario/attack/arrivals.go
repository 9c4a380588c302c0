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
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, b := range p.Backends {
		address, _, err := net.SplitHostPort(b)
		if err != nil {
			return sum, err
		}
		one, err := askBackend(ctx, net.JoinHostPort(address, AdminPort))
		if err != nil {
			return sum, fmt.Errorf("ask backend %s for its counters: %w", b, err)
		}
		sum.Accepted += one.Accepted
		sum.Requests += one.Requests
	}
	return sum, nil
}

func askBackend(ctx context.Context, admin string) (one Arrivals, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/counters", nil)
	if err != nil {
		return one, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return one, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return one, errors.New(response.Status)
	}
	return one, json.NewDecoder(response.Body).Decode(&one)
}
