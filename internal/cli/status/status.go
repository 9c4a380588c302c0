// Package status is the command that tells which local clusters there are and
// how they are.
package status

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/spf13/cobra"
)

type options struct {
	streams cli.Streams
	output  cli.Output
	now     func() time.Time
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{streams: streams, now: time.Now}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the local clusters and their components",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	cli.AddOutputFlag(cmd, &o.output)
	return cmd
}

func run(ctx context.Context, o *options) error {
	list, err := local.List(ctx, "")
	if err != nil {
		return err
	}
	if o.output == cli.JSON {
		return o.streams.PrintJSON(list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(o.streams.Out, "there is no local cluster; make one with: gatemark up")
		return err
	}
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(o.streams.Out)
		}
		if err := print(o.streams.Out, s, o.now()); err != nil {
			return err
		}
	}
	return nil
}

func print(w io.Writer, s local.Status, now time.Time) error {
	fmt.Fprintf(w, "%s: %s", s.Name, s.State)
	if s.Mode != "" {
		fmt.Fprintf(w, ", mode %s", s.Mode)
	}
	if s.Version != "" {
		fmt.Fprintf(w, ", Kubernetes %s", s.Version)
	}
	if s.NodeReady != nil && *s.NodeReady {
		fmt.Fprint(w, ", node ready")
	} else if s.NodeReady != nil {
		fmt.Fprint(w, ", node not ready")
	}
	fmt.Fprintln(w)
	if s.Problem != "" {
		fmt.Fprintf(w, "  problem: %s\n", s.Problem)
	}
	if s.State == local.Ended {
		_, err := fmt.Fprintf(w, "  it left files in %s; remove them with: gatemark down --name %s\n", s.Dir, s.Name)
		return err
	}
	fmt.Fprintf(w, "  server:     %s\n  kubeconfig: %s\n", s.Server, s.Kubeconfig)
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  COMPONENT\tPID\tUP\tRESTARTS")
	for _, c := range s.Components {
		pid := "-"
		if c.PID != 0 {
			pid = fmt.Sprint(c.PID)
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%d\n", c.Name, pid, now.Sub(c.Started).Round(time.Second), c.Restarts)
	}
	return table.Flush()
}
