package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/internal/failure"
)

// A reporter tells the command how far the cluster is. What cannot be sent is
// in the supervisor's log all the same.
type reporter struct {
	control  *handshake.Conn
	messages chan handshake.Message
	flushed  chan struct{}
}

func newReporter(control *handshake.Conn) *reporter {
	return &reporter{control: control, messages: make(chan handshake.Message, 64), flushed: make(chan struct{})}
}

func (r *reporter) loop() {
	defer close(r.flushed)
	for m := range r.messages {
		logf("%s %s %s", m.Kind, m.Step, m.Text)
		if err := r.control.Send(m); err != nil {
			logf("%v", err)
		}
	}
}

// step runs one named step of the bring-up.
func (r *reporter) step(ctx context.Context, name string, work func(context.Context) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r.messages <- handshake.Message{Kind: handshake.StepBegun, Step: name}
	err := work(ctx)
	if err == nil {
		r.messages <- handshake.Message{Kind: handshake.StepDone, Step: name}
		return nil
	}
	r.messages <- handshake.Message{Kind: handshake.StepFailed, Step: name}
	// Where a component ended, that is the error of every step: that they
	// were cut short is not.
	var cause *componentError
	if errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (r *reporter) ready() {
	r.messages <- handshake.Message{Kind: handshake.Ready}
	close(r.messages)
	<-r.flushed
}

// failed sends the error with the end of the log that it is about.
func (r *reporter) failed(s handshake.Settings, err error) {
	text := err.Error()
	var about *componentError
	if errors.As(err, &about) {
		file := layout.Dir(s.Dir).Log(about.name)
		text += "\n" + logTail(file)
	}
	r.messages <- handshake.Message{Kind: handshake.Failed, Text: text, Hints: failure.Hints(err)}
	close(r.messages)
	<-r.flushed
}

// logTail returns the last lines of a log, indented.
func logTail(file string) string {
	const lines, width = 15, 300
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Sprintf("  (its log cannot be read: %v)", err)
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	for i, line := range all {
		if len(line) > width {
			all[i] = line[:width] + "…"
		}
	}
	return "  the end of " + file + ":\n  " + strings.Join(all, "\n  ")
}
