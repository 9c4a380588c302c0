package scenario

import (
	"context"
	"fmt"

	"github.com/gatemark/gatemark/marker"
)

// An Expectation is a host and the marker of the route that must answer it.
// Fields of the marker that are empty are not compared.
type Expectation struct {
	Host string
	Want marker.Marker
	// Gone: no route must answer it any more.
	Gone bool
	// Serial, if not empty, is that of the certificate that must be shown when a
	// connection is opened with the host as server name: then it is asked over
	// TLS, on a connection of its own.
	Serial string
}

// A Sweep asks every route once, of every replica.
type Sweep struct {
	Asked, Right int
	// Wrong counts the other answers by what they were.
	Wrong    map[string]int
	Examples []string
}

// SweepRoutes asks each replica for each host once. It is a check of what is
// true at the end, not a measurement of time.
func SweepRoutes(ctx context.Context, s *Stage, hosts []Expectation) (Sweep, error) {
	swept := Sweep{Wrong: map[string]int{}}
	asker := s.Asker()
	defer asker.Close()
	err := asker.All(ctx, hosts, func(i int, replica, wrong string) {
		swept.Asked++
		if wrong == "" {
			swept.Right++
			return
		}
		swept.Wrong[wrong]++
		if len(swept.Examples) < ExcerptLines {
			swept.Examples = append(swept.Examples, fmt.Sprintf("%s on %s: %s", hosts[i].Host, replica, wrong))
		}
	})
	return swept, err
}

// Words lists the wrong answers, the most frequent first.
func (s *Sweep) Words() []string { return Tally(s.Wrong, "%d× %s") }
