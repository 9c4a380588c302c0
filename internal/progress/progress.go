// Package progress shows long work as a list of named steps: live on a
// terminal, as plain lines elsewhere, so that a log file stays readable.
package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// A Printer shows steps on one stream. Its methods may be called from any
// goroutine. The zero value and nil print nothing.
type Printer struct {
	mu    sync.Mutex
	w     io.Writer
	live  bool
	width int
	now   func() time.Time
	drawn string // what stands on the terminal's unfinished line
}

// New returns a Printer on w: live where w is a terminal.
func New(w io.Writer) *Printer {
	p := &Printer{w: w, now: time.Now, width: 100}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.live = true
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 20 {
			p.width = cols
		}
	}
	return p
}

// A Step is one piece of long work. It ends with Done or Fail.
type Step struct {
	p       *Printer
	name    string
	started time.Time
	printed time.Time
	status  string
	ended   bool
}

// Step begins a step. On a terminal its line is redrawn until it ends.
func (p *Printer) Step(name string) *Step {
	s := &Step{p: p, name: name}
	if p == nil || p.w == nil {
		return s
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.started = p.now()
	s.printed = s.started
	if p.live {
		p.draw(s.line("…"))
	}
	return s
}

// Update says how far the step is. Off a terminal it prints at most one line
// every ten seconds.
func (s *Step) Update(format string, args ...any) {
	p := s.p
	if p == nil || p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.ended {
		return
	}
	s.status = fmt.Sprintf(format, args...)
	if p.live {
		p.draw(s.line("…"))
		return
	}
	if now := p.now(); now.Sub(s.printed) >= 10*time.Second {
		s.printed = now
		p.println(s.line("…"))
	}
}

// Conclude sets what the line that Done or Fail leaves says.
func (s *Step) Conclude(format string, args ...any) {
	if p := s.p; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.status = fmt.Sprintf(format, args...)
	}
}

// Done ends the step and leaves its line with its duration.
func (s *Step) Done() { s.end("✓") }

// Fail ends the step and marks it failed. The caller reports the error.
func (s *Step) Fail() { s.end("✗") }

func (s *Step) end(mark string) {
	p := s.p
	if p == nil || p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	p.println(s.line(mark))
}

// Do runs one named step: work gets a function to say how far it is.
func (p *Printer) Do(ctx context.Context, name string, work func(ctx context.Context, update func(format string, args ...any)) error) error {
	s := p.Step(name)
	if err := work(ctx, s.Update); err != nil {
		s.Fail()
		return err
	}
	s.Done()
	return nil
}

// Printf prints one line between steps.
func (p *Printer) Printf(format string, args ...any) {
	if p == nil || p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.println(fmt.Sprintf(format, args...))
}

func (s *Step) line(mark string) string {
	line := fmt.Sprintf("%s %s", mark, s.name)
	if s.status != "" {
		line += ": " + s.status
	}
	if took := s.p.now().Sub(s.started); took >= 100*time.Millisecond {
		line += fmt.Sprintf("  (%s)", took.Round(100*time.Millisecond))
	}
	return line
}

func (p *Printer) draw(line string) {
	if r := []rune(line); len(r) >= p.width {
		line = string(r[:p.width-1])
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.drawn = line
}

func (p *Printer) println(line string) {
	if p.live && p.drawn != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = ""
	}
	fmt.Fprintln(p.w, line)
}
