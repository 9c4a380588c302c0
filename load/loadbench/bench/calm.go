package bench

import (
	"context"
	"slices"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/stage"
)

// stolen is how much time a hypervisor had taken from the cores at some
// instants. It knows nothing of the requests, so that it may choose among them.
type stolen struct {
	at    []time.Time
	total []time.Duration
}

// stolenEvery is the time between readings. Reading takes a core, too.
const stolenEvery = 100 * time.Millisecond

// watch reads until a process ends.
func (s *stolen) watch(ctx context.Context, p *stage.Process) error {
	for {
		t, err := stage.ReadCPU()
		if err != nil {
			return err
		}
		s.at, s.total = append(s.at, time.Now()), append(s.total, t.Stolen)
		select {
		case <-ctx.Done():
			return nil
		case <-p.Ended():
			return nil
		case <-time.After(stolenEvery):
		}
	}
}

// calm reports whether nothing was taken around an instant: between the
// readings before and after it, and in the stretch on either side, for the
// kernel counts in steps of 10 ms.
func (s *stolen) calm(at time.Time) bool {
	next, _ := slices.BinarySearchFunc(s.at, at, time.Time.Compare)
	first, last := next-2, next+1
	return first >= 0 && last < len(s.at) && s.total[first] == s.total[last]
}
