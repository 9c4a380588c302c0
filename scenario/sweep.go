package scenario

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gatemark/gatemark/marker"
)

// An Expectation is a host and the marker of the route that must answer it.
type Expectation struct {
	Host string
	Want marker.Marker
}

// A Sweep asks every route once, of every replica.
type Sweep struct {
	Asked, Right int
	// Wrong counts the other answers by what they were.
	Wrong    map[string]int
	Examples []string
}

// sweepWorkers ask in parallel: enough to be quick, few enough to be no load.
const sweepWorkers = 4

// SweepRoutes asks each replica for each host once. It is a check of what is
// true at the end, not a measurement of time.
func SweepRoutes(ctx context.Context, s *Stage, hosts []Expectation) (Sweep, error) {
	swept := Sweep{Wrong: map[string]int{}}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sweepWorkers)
	for _, target := range s.Targets() {
		transport := &http.Transport{
			MaxIdleConnsPerHost: sweepWorkers,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
		for _, e := range hosts {
			group.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				wrong := ask(ctx, client, "http://"+target.Address.String()+"/", e)
				mu.Lock()
				defer mu.Unlock()
				swept.Asked++
				if wrong == "" {
					swept.Right++
					return nil
				}
				swept.Wrong[wrong]++
				if len(swept.Examples) < ExcerptLines {
					swept.Examples = append(swept.Examples, fmt.Sprintf("%s on %s: %s", e.Host, target.Name, wrong))
				}
				return nil
			})
		}
	}
	err := group.Wait() // before swept is read
	return swept, err
}

// ask returns what was wrong with the answer, or "".
func ask(ctx context.Context, client *http.Client, url string, e Expectation) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	req.Host = e.Host
	res, err := client.Do(req)
	if err != nil {
		return "no answer"
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return "cut answer"
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Sprintf("status %d", res.StatusCode)
	}
	if got := res.Header.Get(marker.RouteHeader); got != e.Want.Route {
		return "answered by another route"
	}
	return ""
}

// Words lists the wrong answers, the most frequent first.
func (s *Sweep) Words() []string { return Tally(s.Wrong, "%d× %s") }
