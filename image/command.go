package image

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/gatemark/gatemark/internal/failure"
)

// A commandError is a child process that failed: what was run, ready to
// paste, and the end of what it said.
type commandError struct {
	argv   []string
	dir    string
	output string
	err    error
}

func (e *commandError) Error() string {
	text := fmt.Sprintf("%s: %v", quoteArgs(e.argv), e.err)
	if e.dir != "" {
		text = "cd " + e.dir + " && " + text
	}
	if e.output != "" {
		text += "\n" + e.output
	}
	return text
}

func (e *commandError) Unwrap() error { return e.err }

// A command is a child process whose output is kept for errors.
type command struct {
	dir  string
	env  []string
	line func(string) // called with each line of stderr, where set
}

// run executes argv and returns its standard output.
func (c command) run(ctx context.Context, argv ...string) (string, error) {
	var stdout bytes.Buffer
	stderr := &tail{line: c.line}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", quoteArgs(argv), context.Cause(ctx))
	}
	failed := &commandError{argv: argv, dir: c.dir, output: stderr.last(20), err: err}
	if failed.output == "" { // some tell their errors where their answers go
		said := &tail{}
		said.Write(stdout.Bytes())
		failed.output = said.last(20)
	}
	if _, ok := err.(*exec.Error); ok {
		return "", failure.Hint(failed, "install "+argv[0]+" and put it on the PATH")
	}
	return "", failed
}

func quoteArgs(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"$\\|&;<>()*?[]#~`") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// tail keeps the last lines that are written to it.
type tail struct {
	line    func(string)
	lines   []string
	partial []byte
}

const tailLines = 200

func (t *tail) Write(p []byte) (int, error) {
	t.partial = append(t.partial, p...)
	for {
		i := bytes.IndexByte(t.partial, '\n')
		if i < 0 {
			return len(p), nil
		}
		line := string(t.partial[:i])
		t.partial = t.partial[i+1:]
		t.lines = append(t.lines, line)
		if len(t.lines) > tailLines {
			t.lines = t.lines[1:]
		}
		if t.line != nil {
			t.line(line)
		}
	}
}

func (t *tail) last(n int) string {
	lines := t.lines
	if len(t.partial) > 0 {
		lines = append(lines[:len(lines):len(lines)], string(t.partial))
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
