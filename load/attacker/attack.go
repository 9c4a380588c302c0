package attacker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gatemark/gatemark/load"
)

// An attack is one that a fleet has in hand.
type attack struct {
	fleet  *Fleet
	id     string
	before []Offset
	start  int64     // by the fleet's clock
	began  time.Time // the same instant

	// watching ends with the attack, and over is closed when all its attackers
	// are seen to have ended.
	watching context.Context
	end      context.CancelFunc
	over     chan struct{}

	once   sync.Once
	failed chan struct{} // closed when err is set
	err    error
}

func newAttack(f *Fleet) *attack {
	a := &attack{fleet: f, id: rand.Text(), over: make(chan struct{}), failed: make(chan struct{})}
	a.watching, a.end = context.WithCancel(context.Background())
	return a
}

// watchInterval is how long an attacker is left alone while it attacks, at most.
// An attacker that dies shows at once: the question is under way.
const watchInterval = 2 * time.Second

// watch follows every attacker until its end.
func (a *attack) watch() {
	var wait sync.WaitGroup
	for _, r := range a.fleet.remotes {
		wait.Go(func() {
			if err := a.follow(r); err != nil && a.watching.Err() == nil {
				a.fail(err)
			}
		})
	}
	go func() {
		wait.Wait()
		close(a.over)
	}()
}

func (a *attack) follow(r *remote) error {
	interval := min(watchInterval, a.fleet.options.Patience/2)
	for {
		st, err := r.state(a.watching, interval)
		switch {
		case err != nil:
			return err
		case st.Attack != a.id:
			return fmt.Errorf("attacker %s: somebody else has reset it", r.Name)
		case st.Phase == failed:
			return fmt.Errorf("attacker %s: its attack failed: %s", r.Name, st.Error)
		case st.Phase == done:
			return nil
		}
	}
}

// fail stops the other attackers, and makes the attack one that has failed. It
// returns why, which is the first reason if there are several.
func (a *attack) fail(why error) error {
	a.once.Do(func() {
		a.end()
		a.err = errors.Join(why, a.stopOthers(why))
		close(a.failed)
	})
	<-a.failed
	return a.err
}

// stopOthers stops the attackers that are not lost already, and returns which
// are lost as well. One that refuses has nothing to be stopped.
func (a *attack) stopOthers(why error) error {
	gone := map[string]bool{}
	for _, l := range lost(why) {
		gone[l.Attacker] = true
	}
	// The caller's context may be why.
	ctx, cancel := context.WithTimeout(context.Background(), a.fleet.options.Patience)
	defer cancel()
	var problems []error
	for _, l := range lost(a.fleet.each(func(_ int, r *remote) error {
		if gone[r.Name] {
			return nil
		}
		return r.stop(ctx, a.id)
	})) {
		problems = append(problems, l)
	}
	return errors.Join(problems...)
}

// lost lists the attackers that an error says were lost.
func lost(err error) (all []*ErrLost) {
	switch e := err.(type) {
	case nil:
	case *ErrLost:
		return []*ErrLost{e}
	case interface{ Unwrap() error }:
		return lost(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, lost(inner)...)
		}
	}
	return all
}

func (a *attack) collect(ctx context.Context) (*Outcome, error) {
	select {
	case <-a.over:
	case <-a.failed:
		return nil, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("collect: %w", context.Cause(ctx))
	}
	select {
	case <-a.failed: // over as well: nobody watches any more
		return nil, a.err
	default:
	}
	f := a.fleet
	after, err := f.measure(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]load.Attacker, len(f.remotes))
	err = f.each(func(i int, r *remote) (err error) {
		all[i] = load.Attacker{Name: r.Name, Node: r.Node}
		all[i].Result, err = r.result(ctx, a.id)
		return err
	})
	if err != nil {
		return nil, err
	}
	merged, err := load.Merge(all)
	if err != nil {
		return nil, err
	}
	merged.Result.Started = a.began.Round(0)
	out := &Outcome{Merged: *merged}
	for i, r := range f.remotes {
		out.Clocks = append(out.Clocks, newClockReport(r.Name, a.before[i], after[i]))
	}
	out.Skew = skew(out.Clocks)
	return out, f.each(func(_ int, r *remote) error { return r.reset(ctx) })
}
