package scenario

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatemark/gatemark/marker"
	"golang.org/x/sync/errgroup"
)

// An expectation is a host and the marker of the route that must answer it.
type expectation struct {
	host string
	want marker.Marker
}

// A sweep asks every route once, of every replica.
type sweep struct {
	asked, right int
	// wrong counts the other answers by what they were.
	wrong    map[string]int
	examples []string
}

// sweepWorkers ask in parallel: enough to be quick, few enough to be no load.
const sweepWorkers = 4

// sweepRoutes asks each replica for each host once. It is a check of what is
// true at the end, not a measurement of time.
func sweepRoutes(ctx context.Context, s *stage, hosts []expectation) (sweep, error) {
	swept := sweep{wrong: map[string]int{}}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sweepWorkers)
	for _, target := range s.targets() {
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
				swept.asked++
				if wrong == "" {
					swept.right++
					return nil
				}
				swept.wrong[wrong]++
				if len(swept.examples) < excerptLines {
					swept.examples = append(swept.examples, fmt.Sprintf("%s on %s: %s", e.host, target.Name, wrong))
				}
				return nil
			})
		}
	}
	err := group.Wait() // before swept is read
	return swept, err
}

// ask returns what was wrong with the answer, or "".
func ask(ctx context.Context, client *http.Client, url string, e expectation) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	req.Host = e.host
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
	if got := res.Header.Get(marker.RouteHeader); got != e.want.Route {
		return "answered by another route"
	}
	return ""
}

// words lists the wrong answers, the most frequent first.
func (s *sweep) words() []string { return tally(s.wrong, "%d× %s") }

// tally writes counts as lines, the greatest first.
func tally(counts map[string]int, format string) []string {
	var lines []string
	for _, what := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	}) {
		lines = append(lines, fmt.Sprintf(format, counts[what], what))
	}
	return lines
}
