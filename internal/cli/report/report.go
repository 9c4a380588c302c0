// Package report is the command that renders a run again, in this gatemark's
// formats: old runs, runs from elsewhere, a run that was killed.
package report

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/report"
	"github.com/gatemark/gatemark/result"
	"github.com/spf13/cobra"
)

// text is the format for a terminal, which is not written to a file.
const text = "text"

type options struct {
	streams   cli.Streams
	directory result.Directory
	format    string
	// score has the weights of a score, as in "80/20"; empty for none.
	score string
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{streams: streams}
	names := strings.Join(append(report.Formats(), text), ", ")
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Render the report of a run again",
		Long: `report renders a run from its directory: run.json and the trials beside it.
It needs no cluster. Without --format it writes every format into the directory
and prints the short form; with one it prints that format and writes nothing.
With --score it prints, for each scenario, one number for what each of several
implementations used, by weights of your choice. That is no verdict.`,
		Example: `  gatemark report runs/latest
  gatemark report runs/latest --format md > comment.md
  gatemark report runs/latest --score 80/20`,
		Args: oneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			o.directory = result.Directory(args[0])
			return run(o)
		},
	}
	cmd.Flags().StringVar(&o.format, "format", "", "print this format and write nothing: "+names)
	cmd.Flags().StringVar(&o.score, "score", "", "print a score by the weights of data plane and control plane in percent, as in 80/20, and write nothing")
	cmd.MarkFlagsMutuallyExclusive("format", "score")
	return cmd
}

func oneDirectory(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	err := fmt.Errorf("%s takes one run directory, got %q", cmd.CommandPath(), args)
	return failure.Hint(failure.WithCode(err, failure.Usage), "the newest run is runs/latest")
}

func run(o *options) error {
	if o.format != "" && o.format != text && !slices.Contains(report.Formats(), o.format) {
		err := fmt.Errorf("report format %q is not one of %s", o.format, strings.Join(append(report.Formats(), text), ", "))
		return failure.WithCode(err, failure.Usage)
	}
	var weights report.Weights
	if o.score != "" {
		var err error
		if weights, err = report.ParseWeights(o.score); err != nil {
			return failure.WithCode(err, failure.Usage)
		}
	}
	measured, trials, err := report.Read(o.directory)
	if errors.Is(err, fs.ErrNotExist) {
		return failure.Hint(err, "name the directory of a run, the one with run.json in it")
	}
	if err != nil {
		return err
	}
	width, color := cli.Terminal(o.streams.Out)
	terminal := report.Options{Width: width, Color: color}
	if o.score != "" {
		return report.Score(o.streams.Out, measured, trials, weights, terminal)
	}
	switch o.format {
	case "":
		if err := report.Write(o.directory); err != nil {
			return err
		}
		terminal.Directory = o.directory
		return report.Terminal(o.streams.Out, measured, trials, terminal)
	case text:
		return report.Terminal(o.streams.Out, measured, trials, terminal)
	}
	return report.Render(o.streams.Out, o.format, measured, trials)
}
