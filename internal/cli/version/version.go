// Package version is the command that tells which gatemark this is.
package version

import (
	"fmt"

	"github.com/gatemark/gatemark/internal/build"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/spf13/cobra"
)

type options struct {
	streams cli.Streams
	output  cli.Output
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of gatemark",
		Args:  cli.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return run(o) },
	}
	cli.AddOutputFlag(cmd, &o.output)
	return cmd
}

func run(o *options) error {
	info := build.Current()
	if o.output == cli.JSON {
		return o.streams.PrintJSON(info)
	}
	_, err := fmt.Fprintf(o.streams.Out, "gatemark %s %s %s\n", info.Version, info.Commit, info.Go)
	return err
}
