// Package cli holds what gatemark's commands share: their streams and their
// common flags. Each command is a package of its own below this one, with a
// constructor New, an options struct, and a plain run function; package root
// puts them together.
package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Streams are what a command reads and writes. Data goes to Out, everything
// that is said to the user on the way to Err.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Process returns the streams of this process.
func Process() Streams { return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }

// Progress returns a printer of steps on Err.
func (s Streams) Progress() *progress.Printer { return progress.New(s.Err) }

// Output is the value of --output: text or json.
type Output string

// The output formats.
const (
	Text Output = "text"
	JSON Output = "json"
)

// AddOutputFlag gives a command --output.
func AddOutputFlag(cmd *cobra.Command, o *Output) {
	*o = Text
	cmd.Flags().VarP(o, "output", "o", "output format: text or json")
}

// String implements pflag.Value.
func (o *Output) String() string { return string(*o) }

// Type implements pflag.Value.
func (o *Output) Type() string { return "format" }

// Set implements pflag.Value.
func (o *Output) Set(v string) error {
	switch Output(v) {
	case Text, JSON:
		*o = Output(v)
		return nil
	}
	return fmt.Errorf("output format %q is not text or json", v)
}

// PrintJSON writes v to Out, indented.
func (s Streams) PrintJSON(v any) error {
	e := json.NewEncoder(s.Out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// NoArgs refuses positional arguments with a usage error.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return failure.WithCode(fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args), failure.Usage)
	}
	return nil
}

// Terminal tells how wide w is, and whether it takes colours: only a terminal
// does, and only where NO_COLOR is not set.
func Terminal(w io.Writer) (width int, color bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 0
	}
	return width, os.Getenv("NO_COLOR") == ""
}
