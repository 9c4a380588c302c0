package planerestart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// poll is how often the traffic is looked at while an event lasts.
const poll = 50 * time.Millisecond

// lacks says why a kind must not take place, or "": whose pods end must be
// ours to end.
func (r *restarts) lacks(k *kind) string {
	switch {
	case k.plane == "" || r.Installed:
	case k.plane == controlPlane:
		return "the run did not install the implementation: its control plane serves others too"
	case !r.Target.DataPlane.PerGateway():
		return "the run did not install the implementation, and its data plane serves others too"
	}
	return ""
}

// measure has one kind take place again and again.
func (r *restarts) measure(ctx context.Context, k *kind) (seen *kindSeen, err error) {
	seen = &kindSeen{kind: k, planned: r.Values.Int("iterations") * len(k.steps)}
	if seen.unsupported = r.lacks(k); seen.unsupported != "" {
		return seen, nil
	}
	p := &plant{}
	if k.plane != "" {
		if p, err = r.findPlant(ctx, k.plane); err != nil {
			return nil, scenario.Invalid{Reason: err}
		}
	}
	restore, err := r.prepare(ctx, k, p)
	if errors.Is(err, errImpossible) {
		seen.unsupported = err.Error()
		return seen, restore(ctx)
	}
	if err == nil {
		err = r.perform(ctx, seen, p)
	}
	if err = errors.Join(err, restore(ctx)); err != nil {
		err = scenario.Invalid{Reason: err}
	}
	return seen, err
}

// prepare gives the data plane the number of pods that the kind begins with.
// restore takes it back; it is never nil.
func (r *restarts) prepare(ctx context.Context, k *kind, p *plant) (restore func(context.Context) error, err error) {
	restore = func(context.Context) error { return nil }
	if k.replicas == 0 {
		return restore, nil
	}
	w, err := p.workload(ctx)
	if err != nil {
		return restore, err
	}
	limit, before := r.Values.Duration("limit"), w.Replicas()
	restore = func(ctx context.Context) error {
		r.Progress("%s: scaling back to %d", k.name, before)
		err := p.scale(ctx, before)
		if err == nil {
			err = p.settle(ctx, limit)
		}
		if errors.Is(err, errImpossible) { // then its owner did it
			return nil
		}
		return err
	}
	if err := p.scale(ctx, k.replicas); err != nil {
		return restore, err
	}
	return restore, p.settle(ctx, limit)
}

// perform makes the events of a kind while users go on.
func (r *restarts) perform(ctx context.Context, seen *kindSeen, p *plant) error {
	data, err := r.DataPlane()
	if err != nil {
		return err
	}
	l := &lookout{host: hostOf(steady), settle: r.Values.Duration("settle"), find: func(ctx context.Context) ([]kube.Replica, error) {
		return kube.Replicas(ctx, r.Kube, data.Namespace, data.Labels, scenario.ListenerPort)
	}}
	if err := l.start(ctx); err != nil {
		return err
	}
	defer l.stop()
	h := &herd{address: r.address, host: hostOf(sockets), beat: r.Values.Duration("beat"), silence: r.Values.Duration("silence")}
	h.start(ctx, r.herdSize())
	defer h.stop()
	streams := r.streams(seen.kind.changes)
	traffic, err := stream.Start(ctx, streams, func(int32) []stream.Endpoint {
		return []stream.Endpoint{{Name: "the Gateway's address", Address: r.address}}
	}, r.options())
	if err != nil {
		return err
	}
	seen.lanes, seen.began = traffic.Lanes, traffic.Began
	failed := (&performance{restarts: r, seen: seen, plant: p, lookout: l, herd: h, traffic: traffic, streams: streams}).run(ctx)
	results, err := traffic.Stop(ctx)
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	seen.load.Add(results)
	seen.take(traffic.Log.Since(0), h.all(), streams)
	return nil
}

// A performance is a kind that takes place.
type performance struct {
	*restarts
	seen    *kindSeen
	plant   *plant
	lookout *lookout
	herd    *herd
	traffic *stream.Traffic
	streams []stream.Stream
}

func (p *performance) run(ctx context.Context) error {
	lacking, err := p.wait(ctx, p.answers())
	if err != nil {
		return err
	}
	if lacking != "" {
		p.seen.notServed = lacking
		p.Broken("not-served-" + p.seen.kind.name)
		return nil
	}
	p.seen.ready = p.traffic.At(time.Now())
	for i := range p.seen.planned {
		s := &p.seen.kind.steps[i%len(p.seen.kind.steps)]
		p.Progress("%s (%d of %d)", s.name, i+1, p.seen.planned)
		if err := p.one(ctx, s); err != nil {
			if errors.Is(err, errImpossible) {
				p.seen.unsupported = err.Error()
				return p.takeBack(ctx)
			}
			return fmt.Errorf("after %d of %d events: %w", i, p.seen.planned, err)
		}
		if last := &p.seen.events[len(p.seen.events)-1]; !last.over() {
			return nil // another wait would tell nothing new
		}
	}
	return nil
}

// wait returns when every lane, every replica and all WebSockets are in a
// state, or says what is not.
func (p *performance) wait(ctx context.Context, state []stream.Answer) (lacking string, err error) {
	window := max(p.Values.Duration("settle"), 2*settledRights*p.options().LongestStep(p.seen.lanes))
	for deadline := time.Now().Add(scenario.OldLimit); ; {
		now := p.traffic.At(time.Now())
		lacking = lacks(p.seen.lanes, p.traffic.Log.Since(now-window), state)
		if lacking == "" {
			lacking = p.lookout.missing()
		}
		open, trouble := p.herd.opened()
		missing := open < p.herdSize()
		if lacking == "" && now > window && (!missing || time.Now().After(deadline)) {
			if missing {
				p.noSockets = fmt.Sprintf("%d of %d WebSockets could be opened; the last error was: %v", open, p.Values.Int("sockets"), trouble)
			}
			return "", nil
		}
		if time.Now().After(deadline) {
			return fmt.Sprintf("%s after %s", lacking, scenario.OldLimit), nil
		}
		if err := pause(ctx, poll); err != nil {
			return "", err
		}
	}
}

// herdSize is how many WebSockets are held open: none where they cannot be
// opened.
func (r *restarts) herdSize() int {
	if r.noSockets != "" {
		return 0
	}
	return r.Values.Int("sockets")
}

// settledRights is how many right answers show that a state is there.
const settledRights = 3

// lacks says in words which lane does not show a state, or "".
func lacks(lanes []stream.Lane, hits []stream.Hit, state []stream.Answer) string {
	rights := make([]int, len(lanes))
	last := make([]string, len(lanes))
	for i := range hits {
		h := &hits[i]
		of := lanes[h.Lane].Stream
		if stream.Tell(h, true, state[of], state[of]) == stream.ShowsEither {
			rights[h.Lane]++
		} else {
			rights[h.Lane], last[h.Lane] = 0, ", and last: "+h.What()
		}
	}
	for i, n := range rights {
		if n < settledRights {
			return fmt.Sprintf("%d right answers came in a row on %s%s", n, lanes[i], last[i])
		}
	}
	return ""
}

// one makes one event and watches it.
func (p *performance) one(ctx context.Context, s *step) error {
	if err := pause(ctx, p.Values.Duration("rest")); err != nil {
		return err
	}
	e := event{step: s}
	e.sockets, _ = p.herd.opened()
	before := p.answers()
	start := time.Now()
	e.t0 = p.traffic.At(start)
	if err := s.act(ctx, p.plant); err != nil {
		return err
	}
	p.Event(start, "event", s.name)
	if p.seen.kind.changes {
		written := time.Now()
		if err := p.change(ctx); err != nil {
			return err
		}
		e.change = &stream.Change{Forward: true, T0: p.traffic.At(written), Before: before, After: p.answersAfter()}
	}
	if err := p.watch(ctx, &e, start); err != nil {
		return err
	}
	e.replicas = p.lookout.since(start)
	p.seize(&e)
	p.seen.events = append(p.seen.events, e)
	if e.change == nil {
		return nil
	}
	if err := p.takeBack(ctx); err != nil || !e.over() {
		return err
	}
	lacking, err := p.wait(ctx, p.answers())
	if err == nil && lacking != "" {
		p.seen.events[len(p.seen.events)-1].notBack = "when the new route was deleted again: " + lacking
	}
	return err
}

// watch returns when the event is over: the plane is as it is to be, every
// replica serves, and what was changed is in force.
func (p *performance) watch(ctx context.Context, e *event, start time.Time) error {
	least, limit, settle := p.Values.Duration("watch"), p.Values.Duration("limit"), p.Values.Duration("settle")
	looked, missing := time.Time{}, "nobody has looked yet"
	for {
		if err := pause(ctx, poll); err != nil {
			return err
		}
		now := time.Now()
		if missing != "" && p.seen.kind.plane == "" {
			missing = ""
		} else if missing != "" && now.Sub(looked) >= look {
			var err error
			if missing, err = p.plant.missing(ctx); err != nil {
				return err
			}
			looked = now
			if missing == "" {
				e.back = time.Since(start)
			}
		}
		if e.notBack = missing; missing == "" {
			e.notBack = p.lookout.missing()
		}
		over := now.Sub(start) >= limit
		if e.notBack != "" && !over {
			continue
		}
		e.lateChange = p.lateChange(e, now, settle)
		if over || e.lateChange == "" && now.Sub(start) >= least {
			e.until = p.traffic.At(time.Now())
			e.back = max(e.back, p.lookout.served(start).Sub(start))
			return nil
		}
	}
}

// lateChange says in words that what was changed is not in force, or "".
func (p *performance) lateChange(e *event, now time.Time, settle time.Duration) string {
	if e.change == nil {
		return ""
	}
	e.effects = stream.Effects(p.seen.lanes, p.traffic.Log.Since(e.change.T0), e.change, settle)
	if stream.Settled(e.effects, p.seen.lanes, e.change, p.traffic.At(now)-e.change.T0, settle) {
		return ""
	}
	return "the changed route or the new one is not in force everywhere"
}

// seize takes evidence at once of what will be found broken.
func (p *performance) seize(e *event) {
	if e.lateChange != "" {
		p.Broken("never-in-force-" + e.step.name)
	}
	if e.notBack != "" {
		p.Broken("never-back-" + e.step.name)
	}
	if _, early, _ := e.early(); early > 0 {
		p.Broken("early-" + e.step.name)
	}
	if saw := p.seen.see(p.traffic.Log.Since(e.t0), e.t0, p.streams); saw.failed() > 0 && saw.longest >= e.step.cut {
		p.Broken("errors-" + e.step.name)
	}
}
