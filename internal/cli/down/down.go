// Package down is the command that removes local clusters.
package down

import (
	"context"
	"errors"
	"fmt"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/spf13/cobra"
)

type options struct {
	streams cli.Streams
	name    string
	all     bool
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove a local cluster without a trace",
		Long: `Remove a local cluster: its processes, mounts, network, cgroups and files. It
works whatever state the cluster is in, and also after a crash.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.all && cmd.Flags().Changed("name") {
				return failure.WithCode(errors.New("--name and --all exclude each other"), failure.Usage)
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.name, "name", local.DefaultName, "name of the cluster")
	cmd.Flags().BoolVar(&o.all, "all", false, "remove every local cluster")
	return cmd
}

func run(ctx context.Context, o *options) error {
	names := []string{o.name}
	if o.all {
		var err error
		if names, err = local.Names(""); err != nil {
			return err
		}
	}
	var problems []error
	for _, name := range names {
		was, err := local.Down(ctx, "", name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		text := "cluster %s is removed\n"
		if !was {
			text = "there is no cluster %s\n"
		}
		if _, err := fmt.Fprintf(o.streams.Err, text, name); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
