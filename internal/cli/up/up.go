// Package up is the command that makes a local cluster.
package up

import (
	"context"
	"fmt"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/binaries"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/spf13/cobra"
)

type options struct {
	streams   cli.Streams
	cluster   local.Options
	mode      string
	buildOnly bool
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Make a local cluster: real Kubernetes with no way out",
		Long: `Make a real Kubernetes cluster of one node on this machine, in namespaces of
its own: it leaves nothing in the host's firewall, routes or directories, and
no packet gets out of it. gatemark down removes it without a trace.

Where the cluster is up already, nothing is done.`,
		Example: `  gatemark up
  gatemark up --name second
  gatemark up --mode control-plane   # an API server for tests, also without root`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.cluster.Name, "name", local.DefaultName, "name of the cluster")
	flags.StringVar(&o.mode, "mode", string(local.Full), "how much of a cluster: full or control-plane")
	flags.BoolVar(&o.cluster.Retain, "retain", false, "after a failure, keep what is there for a look at it")
	flags.BoolVar(&o.buildOnly, "build-only", false, "build the node's programs, and make no cluster")
	return cmd
}

func run(ctx context.Context, o *options) error {
	o.cluster.Mode = local.Mode(o.mode)
	if o.cluster.Mode != local.Full && o.cluster.Mode != local.ControlPlane {
		return failure.WithCode(fmt.Errorf("--mode %q is not %s or %s", o.mode, local.Full, local.ControlPlane), failure.Usage)
	}
	o.cluster.Progress = o.streams.Progress()
	if o.buildOnly {
		dir, err := binaries.DefaultDir()
		if err != nil {
			return err
		}
		return binaries.Ensure(ctx, dir, o.cluster.Progress)
	}
	c, err := local.Up(ctx, o.cluster)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.streams.Err, "cluster %s is up; try: gatemark kubectl%s get nodes,services -A\n", c.Name(), nameFlag(c.Name()))
	return err
}

func nameFlag(name string) string {
	if name == local.DefaultName {
		return ""
	}
	return " --name " + name
}
