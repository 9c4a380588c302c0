// Package failure gives errors what a command line needs beside a cause: a
// hint that says what to do about it, and the exit code that a script sees.
//
// The text of an error says what went wrong, with which object, and how far
// it got. What the reader can do about it is a hint, kept apart so that it
// gets a line of its own in print.
package failure

import "errors"

// Code is an exit code of the gatemark command. Scripts rely on them.
type Code int

// The exit codes.
const (
	// OK: what was asked for was done. A run with findings is OK too.
	OK Code = 0
	// CouldNotRun: something outside the request stood in the way.
	CouldNotRun Code = 1
	// Usage: the request itself is wrong: a flag, a plan, a name.
	Usage Code = 2
	// Thresholds: the run was completed and is over its plan's thresholds.
	Thresholds Code = 3
	// Invalid: trials were still invalid after their repeats.
	Invalid Code = 4
	// Interrupted: stopped by a signal.
	Interrupted Code = 130
)

type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// Hint attaches what the reader can do about err. It returns nil for nil.
func Hint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return hinted{err, hint}
}

// Hints returns every hint in err's tree, outermost first.
func Hints(err error) []string {
	var hints []string
	walk(err, func(e error) {
		if h, ok := e.(hinted); ok {
			hints = append(hints, h.hint)
		}
	})
	return hints
}

type coded struct {
	error
	code Code
}

func (c coded) Unwrap() error { return c.error }

// WithCode sets the exit code for err. It returns nil for nil.
func WithCode(err error, code Code) error {
	if err == nil {
		return nil
	}
	return coded{err, code}
}

// CodeOf returns the outermost exit code in err's tree: OK for nil and
// CouldNotRun where none was set.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return CouldNotRun
}

// Problems joins every problem of one input into one usage error, so that
// the reader can mend all of them at once. It returns nil for none.
func Problems(problems []error) error {
	return WithCode(errors.Join(problems...), Usage)
}

func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			walk(inner, visit)
		}
	}
}
