package routescale

import (
	"context"
	"math"
	"time"
)

// When single changes are tried.
const (
	withFew       = "with few routes"
	withAll       = "with all routes"
	whileChanging = "while others change"
)

// A single is one change of one route, timed.
type single struct {
	when   string
	routes int
	// took is from when the write was sent until every replica served the change,
	// in seconds; +Inf where that was not within the limit.
	took float64
}

// trySingles makes single changes, one after the other.
func (s *scaling) trySingles(when string) func(context.Context) error {
	return func(ctx context.Context) error {
		if s.ceiling.is() {
			return nil
		}
		if when == withAll && s.Values.Int("singles") > 0 {
			s.enter(ctx, singleChanges)
		}
		own := s.waited()
		own = own[:min(s.Values.Int("singles"), len(own))]
		for _, r := range own {
			s.Progress("single changes %s", when)
			one := single{when: when, routes: s.there()}
			sent := time.Now()
			if err := s.edit(ctx, r); err != nil {
				return err
			}
			at, wrong, err := s.served(ctx, []*route{r}, sent.Add(s.Values.Duration("limit")))
			if err != nil {
				return err
			}
			if one.took = at.Sub(sent).Seconds(); len(wrong) > 0 {
				one.took = math.Inf(1)
			}
			s.singles = append(s.singles, one)
			if len(wrong) > 0 {
				return nil // others would be waited for as long
			}
		}
		return nil
	}
}

// took are the times of single changes made at some time.
func (s *scaling) took(when string) []float64 {
	var all []float64
	for _, one := range s.singles {
		if one.when == when {
			all = append(all, one.took)
		}
	}
	return all
}
