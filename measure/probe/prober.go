package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Prober owns the connections to its targets and the thread that serves
// them. Kept connections last from one question to the next.
type Prober struct {
	loop *loop
}

// ErrClosed is the error of a prober that was closed.
var ErrClosed = errors.New("prober is closed")

// New starts a prober. It connects with the first question.
func New(targets []Target, options Options) (*Prober, error) {
	options.setDefaults()
	problems := []error{options.validate()}
	if len(targets) == 0 {
		problems = append(problems, errors.New("no targets"))
	}
	for _, t := range targets {
		if !t.Address.IsValid() || t.Address.Port() == 0 {
			problems = append(problems, fmt.Errorf("target %s: address %v is not an address and a port", t.Name, t.Address))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	loop, err := newLoop(targets, options)
	if err != nil {
		return nil, fmt.Errorf("start prober: %w", err)
	}
	return &Prober{loop}, nil
}

// Ask begins to probe the old state, at once. One question is asked at a time:
// the inquiry before it must have ended.
func (p *Prober) Ask(question Question) (*Inquiry, error) {
	question.setDefaults()
	if err := question.validate(); err != nil {
		return nil, err
	}
	if _, err := question.speaker(); err != nil {
		return nil, err
	}
	i := &Inquiry{
		loop: p.loop, question: question,
		old: make(chan struct{}), done: make(chan struct{}),
	}
	answer := make(chan error, 1)
	if err := p.loop.do(func() { answer <- p.loop.begin(i) }); err != nil {
		return nil, err
	}
	if err := <-answer; err != nil {
		return nil, err
	}
	return i, nil
}

// Close ends an inquiry that is under way, closes every connection and waits
// for the thread to end.
func (p *Prober) Close() error { return p.loop.close() }

// Start is New and Ask for one question. The inquiry's end closes the prober.
func Start(question Question, targets []Target, options Options) (*Inquiry, error) {
	p, err := New(targets, options)
	if err != nil {
		return nil, err
	}
	i, err := p.Ask(question)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	i.owned = p
	return i, nil
}

// An Inquiry is one question under way. It must be ended, by Wait or by Stop.
type Inquiry struct {
	loop     *loop
	owned    *Prober
	question Question

	old  chan struct{} // closed when every lane shows the old state
	done chan struct{} // closed when outcome is there
	// outcome is nil where the inquiry ended without having been marked.
	outcome *Outcome

	release sync.Once
	closing error
}

// speaker asks the question on a connection of its own.
func (i *Inquiry) speaker() speaker {
	s, err := i.question.speaker()
	if err != nil {
		panic(fmt.Sprintf("question for %s: %v", i.question.Host, err)) // it was validated
	}
	return s
}

// ErrOtherState is in the error of Old where a target does answer, or refuses
// to, and what it says last is neither the old state nor the new one.
var ErrOtherState = errors.New("that is another state")

// Old returns when every lane has answered the old state a few times in a row.
// Its error says which have not, and what they answered.
func (i *Inquiry) Old(ctx context.Context) error {
	select {
	case <-i.old:
		return nil
	case <-i.done:
		return ErrClosed
	case <-ctx.Done():
	}
	answer := make(chan error, 1)
	if err := i.loop.do(func() { answer <- i.loop.missing(i) }); err != nil {
		return err
	}
	if err := <-answer; err != nil {
		return fmt.Errorf("waiting for the old state (%s): %w: %w", i.question.Old, context.Cause(ctx), err)
	}
	return nil
}

// Mark says that the change is about to be written: t0, which must have a
// monotonic reading. From here the schedule is dense. It does not wait for the
// prober's thread, so that nothing comes between t0 and the write.
func (i *Inquiry) Mark(t0 time.Time) {
	// A closed prober is told by Wait.
	_ = i.loop.do(func() { i.loop.mark(i, t0) })
}

// Wait returns when every lane is stable or the limit has passed; Outcome says
// which. With a cancelled context it ends the inquiry, and returns what there
// is together with an error.
func (i *Inquiry) Wait(ctx context.Context) (*Outcome, error) {
	var err error
	select {
	case <-i.done:
	case <-ctx.Done():
		err = fmt.Errorf("waiting for the new state (%s): %w", i.question.New, context.Cause(ctx))
		i.end()
	}
	if i.outcome == nil {
		err = errors.Join(err, errors.New("probing ended before the change was marked"))
	}
	return i.outcome, errors.Join(err, i.free())
}

// Stop ends the inquiry without an outcome. It is harmless after Wait.
func (i *Inquiry) Stop() error {
	i.end()
	return i.free()
}

// end makes the loop finish the inquiry. A closed loop has done so by itself.
func (i *Inquiry) end() {
	if err := i.loop.do(func() { i.loop.end(i) }); err == nil {
		<-i.done
	}
}

func (i *Inquiry) free() error {
	i.release.Do(func() {
		if i.owned != nil {
			i.closing = i.owned.Close()
		}
	})
	return i.closing
}
