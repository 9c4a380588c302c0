// Package supervise is the hidden command that is process 1 of a local
// cluster. gatemark up starts it; it is of no use by hand.
package supervise

import (
	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/supervisor"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:    local.SupervisorCommand,
		Short:  "Be the first process of a local cluster",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return supervisor.Run() },
	}
}
