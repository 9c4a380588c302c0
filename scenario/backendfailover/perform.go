package backendfailover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// lead is how long requests are sent before the backend fails for the first
// time, and sampleStep how often it is asked what came to it.
const lead, sampleStep = 2 * time.Second, 40 * time.Millisecond

// measure has the backend fail in one way, again and again.
func (f *failover) measure(ctx context.Context, k *kind) (*kindSeen, error) {
	seen := &kindSeen{kind: k, paths: f.paths(), timeout: f.Values.Duration("timeout"), quiet: f.Values.Duration("quiet"), victim: f.pool.victim}
	err := f.perform(ctx, seen)
	if err != nil {
		return nil, invalid(errors.Join(err, f.fail(context.WithoutCancel(ctx), k, false)))
	}
	return seen, nil
}

// invalid is a problem of ours, but for what is said to be the implementation's.
func invalid(err error) error {
	var failed scenario.Failed
	if errors.As(err, &failed) {
		return err
	}
	return scenario.Invalid{Reason: err}
}

func (f *failover) perform(ctx context.Context, seen *kindSeen) error {
	asked := stream.Stream{Name: "the paths", Host: host, Path: f.path()}
	traffic, err := stream.Start(ctx, []stream.Stream{asked}, func(int32) []stream.Endpoint { return f.places }, stream.Options{
		Rate: f.Values.Int("rate"), FreshEvery: f.Values.Int("freshEvery"), Connections: f.Values.Int("connections"), Timeout: f.Values.Duration("timeout"),
	})
	if err != nil {
		return err
	}
	seen.lanes, seen.began = traffic.Lanes, traffic.Began
	s := &sampler{pool: f.pool, at: traffic.At}
	failed := f.wait(ctx, traffic)
	if failed == nil {
		seen.ready = traffic.At(time.Now())
		s.start(ctx)
		failed = f.cycle(ctx, seen, traffic)
		seen.samples = s.stop()
		failed = errors.Join(failed, s.err)
	}
	results, err := traffic.Stop(ctx)
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	seen.load.Add(results)
	seen.take(traffic.Log.Since(0))
	return nil
}

// wait returns when the last second had no wrong answer.
func (f *failover) wait(ctx context.Context, traffic *stream.Traffic) error {
	for deadline := time.Now().Add(scenario.OldLimit); ; {
		now := traffic.At(time.Now())
		rights, wrong := 0, ""
		hits := traffic.Log.Since(now - lead/2)
		for i := range hits {
			if good(&hits[i]) {
				rights++
			} else {
				wrong = hits[i].What()
			}
		}
		if wrong == "" && rights > 0 && now > lead {
			return nil
		}
		if time.Now().After(deadline) {
			return scenario.Failed{Reason: fmt.Errorf("while all backends are well, the routes are not served rightly after %s: %d right answers in the last second, and: %s", scenario.OldLimit, rights, wrong)}
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// cycle makes the outages.
func (f *failover) cycle(ctx context.Context, seen *kindSeen, traffic *stream.Traffic) error {
	start := time.Now()
	period := f.Values.Duration("period")
	before, err := f.pool.countAll(ctx)
	if err != nil {
		return err
	}
	seen.before, seen.countedAt = before, traffic.At(time.Now())
	for i := range f.Values.Int("cycles") {
		f.Progress("%s (%d of %d outages)", seen.kind.name, i+1, f.Values.Int("cycles"))
		var o outage
		if o.before, err = f.pool.count(ctx, f.pool.victim); err != nil {
			return err
		}
		began := time.Now()
		o.from = traffic.At(began)
		if err := f.fail(ctx, seen.kind, true); err != nil {
			return err
		}
		f.Event(began, "fails: "+seen.kind.name, f.pool.victim)
		if err := until(ctx, start.Add(time.Duration(2*i+1)*period)); err != nil {
			return err
		}
		ended := time.Now()
		if err := f.fail(ctx, seen.kind, false); err != nil {
			return err
		}
		// By then it is well: what is asked of it while that is written may go
		// either way.
		o.until, o.healed = traffic.At(ended), traffic.At(time.Now())
		f.Event(ended, "is well again: "+seen.kind.name, f.pool.victim)
		if o.after, err = f.pool.count(ctx, f.pool.victim); err != nil {
			return err
		}
		if err := until(ctx, start.Add(time.Duration(2*i+2)*period)); err != nil {
			return err
		}
		o.next = traffic.At(time.Now())
		seen.outages = append(seen.outages, o)
	}
	after, err := f.pool.countAll(ctx)
	seen.after, seen.counted = after, traffic.At(time.Now())-seen.countedAt
	return err
}

func until(ctx context.Context, at time.Time) error { return pause(ctx, time.Until(at)) }

// pause sleeps, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// A sample is what the backend that fails had counted at an instant since the
// traffic began: requests, and how often a fault was applied, by its kind.
type sample struct {
	at      time.Duration
	counted counters
}

// A sampler asks the backend that fails again and again.
type sampler struct {
	pool    *pool
	at      func(time.Time) time.Duration
	cancel  context.CancelFunc
	running sync.WaitGroup
	samples []sample
	err     error
}

func (s *sampler) start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.running.Go(func() {
		tick := time.NewTicker(sampleStep)
		defer tick.Stop()
		for {
			began := time.Now()
			c, err := s.pool.count(ctx, s.pool.victim)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				s.err = err
				return
			}
			c.Routes = c.unrouted()
			// In the middle between question and answer.
			s.samples = append(s.samples, sample{s.at(began.Add(time.Since(began) / 2)), c})
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// stop ends it, and returns all samples.
func (s *sampler) stop() []sample {
	s.cancel()
	s.running.Wait()
	return s.samples
}
