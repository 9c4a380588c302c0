// Package truth is the command that runs truth, the gateway with which
// gatemark is tested, in pods of a cluster. Users do not call it.
package truth

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/truth/fault"
)

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "truth",
		Short:  "Run the gateway that gatemark is tested with (called by tests)",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newControl(streams, control), newData(streams, data))
	return cmd
}

// readFaults reads the value of --faults.
func readFaults(text string) (fault.Faults, error) {
	f, err := fault.Parse(text)
	if err != nil {
		return f, failure.WithCode(fmt.Errorf("--faults: %w", err), failure.Usage)
	}
	return f, nil
}
