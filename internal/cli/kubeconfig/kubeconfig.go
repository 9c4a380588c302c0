// Package kubeconfig is the command that prints a local cluster's kubeconfig.
package kubeconfig

import (
	"fmt"
	"os"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/spf13/cobra"
)

type options struct {
	streams cli.Streams
	name    string
	path    bool
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print a local cluster's kubeconfig",
		Long: `Print the kubeconfig of a local cluster's administrator. It refers to no other
file, so that it can be kept and used anywhere on this machine.`,
		Example: `  kubectl --kubeconfig <(gatemark kubeconfig) get pods -A
  export KUBECONFIG=$(gatemark kubeconfig --path)`,
		Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error { return run(o) },
	}
	cmd.Flags().StringVar(&o.name, "name", local.DefaultName, "name of the cluster")
	cmd.Flags().BoolVar(&o.path, "path", false, "print the file's path instead")
	return cmd
}

func run(o *options) error {
	c, err := local.Find("", o.name)
	if err != nil {
		return err
	}
	if o.path {
		_, err := fmt.Fprintln(o.streams.Out, c.Kubeconfig())
		return err
	}
	text, err := os.ReadFile(c.Kubeconfig())
	if err != nil {
		return fmt.Errorf("printing the kubeconfig of cluster %s: %w", o.name, err)
	}
	_, err = o.streams.Out.Write(text)
	return err
}
