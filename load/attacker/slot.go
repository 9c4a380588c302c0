package attacker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gatemark/gatemark/load"
)

// A slot holds a server's attack, of which there is one at a time.
type slot struct {
	mu     sync.Mutex
	phase  phase
	id     string
	url    string
	since  time.Time
	attack *load.Attack // while prepared or running
	found  *load.Result
	err    error
	// ended is closed when the phase has ended.
	ended chan struct{}
	// resetting is set while a reset waits.
	resetting bool
}

func (s *slot) init() {
	s.phase = idle
	s.ended = make(chan struct{})
	close(s.ended)
}

func (s *slot) state() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := state{Phase: s.phase, Attack: s.id, URL: s.url}
	if s.err != nil {
		st.Error = s.err.Error()
	}
	return st
}

// waitForEnd waits until the attack has ended, or the context.
func (s *slot) waitForEnd(ctx context.Context) {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// prepare returns when the attack's connections are open.
func (s *slot) prepare(ctx context.Context, in prepareRequest) error {
	s.mu.Lock()
	if s.phase != idle {
		defer s.mu.Unlock()
		return fmt.Errorf("attack %s on %s is %s, for %v: it must be reset first", s.id, s.url, s.phase, time.Since(s.since).Round(time.Millisecond))
	}
	s.phase, s.id, s.url, s.since, s.ended = preparing, in.Attack, in.Options.Targets[0].URL, time.Now(), make(chan struct{})
	s.mu.Unlock()
	attack, err := load.Prepare(ctx, in.Options)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		// There is nothing to be reset.
		s.clear()
		return fmt.Errorf("prepare: %w", err)
	}
	s.attack, s.phase = attack, prepared
	if s.resetting {
		attack.Stop()
	}
	go s.wait(attack)
	return nil
}

// wait takes the attack's result.
func (s *slot) wait(attack *load.Attack) {
	result, err := attack.Wait(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attack, s.found, s.err = nil, result, err
	s.phase = done
	if err != nil {
		s.phase = failed
	}
	close(s.ended)
}

// clear makes room for another attack. It is called with the lock held.
func (s *slot) clear() {
	if !s.phase.ended() {
		close(s.ended)
	}
	s.phase, s.id, s.url, s.attack, s.found, s.err = idle, "", "", nil, nil, nil
}

// the returns the attack if it has the ID and phase. It is called with the
// lock held.
func (s *slot) the(id string, want phase) (*load.Attack, error) {
	switch {
	case s.phase == idle:
		return nil, errors.New("no attack is prepared")
	case s.id != id:
		return nil, fmt.Errorf("attack %q is not %s, which is here", id, s.id)
	case s.phase == failed:
		return nil, fmt.Errorf("the attack has failed: %w", s.err)
	case s.phase != want:
		return nil, fmt.Errorf("the attack is %s, not %s", s.phase, want)
	}
	return s.attack, nil
}

// start begins the attack at an instant. That it has passed already is an
// error: the others would be ahead.
func (s *slot) start(id string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	attack, err := s.the(id, prepared)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if late := time.Since(at); late > 0 {
		return fmt.Errorf("start: told %v after the instant", late)
	}
	attack.Start(at)
	s.phase = running
	return nil
}

func (s *slot) mark(id, window string, at time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	attack, err := s.the(id, running)
	if err != nil {
		return fmt.Errorf("mark %q: %w", window, err)
	}
	if at < 0 {
		return fmt.Errorf("mark %q: %v is before the start", window, at)
	}
	instant := attack.Began().Add(at)
	if late := time.Since(instant); late >= 0 {
		return fmt.Errorf("mark %q: told %v after the instant", window, late)
	}
	return attack.Mark(window, instant)
}

// stop lets an attack end that runs, or never begins. One that has ended needs
// none.
func (s *slot) stop(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != id {
		return fmt.Errorf("stop: attack %q is not here", id)
	}
	if s.attack != nil {
		s.attack.Stop()
	}
	return nil
}

func (s *slot) result(id string) (*load.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.the(id, done); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return s.found, nil
}

// reset stops whatever attack there is, waits for its end, and forgets it.
func (s *slot) reset(ctx context.Context) error {
	s.mu.Lock()
	s.resetting = true
	if s.attack != nil {
		s.attack.Stop()
	}
	s.mu.Unlock()
	s.waitForEnd(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resetting = false
	if !s.phase.ended() {
		return fmt.Errorf("reset: the attack is still %s: %w", s.phase, context.Cause(ctx))
	}
	s.clear()
	return nil
}
