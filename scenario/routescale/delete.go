package routescale

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gatemark/gatemark/kube"
)

// deletion is how the routes went.
type deletion struct {
	routes int
	took   time.Duration // until the last deletion was answered
	// gone is when no replica served any, after that; +Inf where one was served
	// after the limit. served are these.
	gone   float64
	served map[*route]string
}

// delete deletes all routes, and waits until none is served.
func (s *scaling) delete(ctx context.Context) error {
	s.enter(ctx, deleting)
	all := s.living()
	began := time.Now()
	err := kube.Parallel(ctx, len(all), s.Values.Int("writers"), func(done int) {
		if done%100 == 0 {
			s.Progress("deleting routes: %d of %d", done, len(all))
		}
	}, func(ctx context.Context, i int) error { return s.remove(ctx, all[i]) })
	if err != nil {
		return fmt.Errorf("delete routes: %w", err)
	}
	last := time.Now()
	s.Progress("waiting until no deleted route is served")
	at, served, err := s.served(ctx, all, last.Add(s.Values.Duration("limit")))
	if err != nil {
		return err
	}
	s.deleted = deletion{routes: len(all), took: last.Sub(began), gone: at.Sub(last).Seconds(), served: served}
	if len(served) > 0 {
		s.deleted.gone = math.Inf(1)
		s.Broken("deleted-served")
	}
	return s.removeSets(ctx)
}
