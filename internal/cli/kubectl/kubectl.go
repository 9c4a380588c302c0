// Package kubectl is the command that runs the bundled kubectl against a
// local cluster.
package kubectl

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/spf13/cobra"
)

// exec is syscall.Exec but in tests.
type exec func(path string, argv, env []string) error

// New returns the command.
func New(streams cli.Streams) *cobra.Command { return newCommand(streams, syscall.Exec) }

func newCommand(streams cli.Streams, run exec) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--name CLUSTER] ARGUMENT...",
		Short: "Run the bundled kubectl against a local cluster",
		Long: `Run the bundled kubectl with a local cluster's kubeconfig. Everything is passed
on to kubectl, but for a --name that comes first.`,
		Example: `  gatemark kubectl get pods -A
  gatemark kubectl --name second top nodes`,
		// kubectl's flags are kubectl's.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, args, err := split(args)
			if err != nil {
				return err
			}
			c, err := local.Find("", name)
			if err != nil {
				return err
			}
			path, argv0 := c.Program("kubectl")
			env := environment(os.Environ(), map[string]string{
				"KUBECONFIG": c.Kubeconfig(),
				// Not in the user's home, where it would outlive the cluster.
				"KUBECACHEDIR": c.CacheDir(),
			})
			if err := run(path, append([]string{argv0}, args...), env); err != nil {
				return fmt.Errorf("running %s: %w", path, err)
			}
			return nil
		},
	}
}

// split takes a leading --name off the arguments, and a -- before kubectl's own.
func split(args []string) (name string, rest []string, err error) {
	name, rest, err = splitName(args)
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	return name, rest, err
}

func splitName(args []string) (name string, rest []string, err error) {
	if len(args) == 0 {
		return local.DefaultName, nil, nil
	}
	if value, ok := strings.CutPrefix(args[0], "--name="); ok {
		return value, args[1:], nil
	}
	if args[0] != "--name" {
		return local.DefaultName, args, nil
	}
	if len(args) < 2 {
		return "", nil, failure.WithCode(fmt.Errorf("--name needs the name of a cluster"), failure.Usage)
	}
	return args[1], args[2:], nil
}

// environment returns env with values set. Of two values of one name, kubectl
// would take the first.
func environment(env []string, values map[string]string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := values[name]
		return replaced
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
	}
	return env
}
