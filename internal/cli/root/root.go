// Package root is the gatemark command: it puts the subcommands together,
// runs one, and turns its error into lines and an exit code.
package root

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/cli/attacker"
	"github.com/gatemark/gatemark/internal/cli/clean"
	"github.com/gatemark/gatemark/internal/cli/down"
	"github.com/gatemark/gatemark/internal/cli/echo"
	"github.com/gatemark/gatemark/internal/cli/implementations"
	"github.com/gatemark/gatemark/internal/cli/kubeconfig"
	"github.com/gatemark/gatemark/internal/cli/kubectl"
	"github.com/gatemark/gatemark/internal/cli/load"
	"github.com/gatemark/gatemark/internal/cli/report"
	"github.com/gatemark/gatemark/internal/cli/run"
	"github.com/gatemark/gatemark/internal/cli/runner"
	"github.com/gatemark/gatemark/internal/cli/sampler"
	"github.com/gatemark/gatemark/internal/cli/status"
	"github.com/gatemark/gatemark/internal/cli/supervise"
	"github.com/gatemark/gatemark/internal/cli/truth"
	"github.com/gatemark/gatemark/internal/cli/up"
	"github.com/gatemark/gatemark/internal/cli/version"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Main runs gatemark with the process' arguments and streams, and returns its
// exit code.
func Main() int {
	// Libraries' logs would run between our lines. What goes wrong comes back
	// as an error.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal kills: whoever presses Ctrl-C twice means it.
	context.AfterFunc(ctx, stop)
	return int(Run(ctx, cli.Process(), os.Args[1:]))
}

// Run runs one command line.
func Run(ctx context.Context, streams cli.Streams, args []string) failure.Code {
	cmd := New(streams)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return failure.OK
	}
	if ctx.Err() != nil {
		// Whatever else went wrong then came of it.
		fmt.Fprintln(streams.Err, "gatemark: interrupted")
		if !errors.Is(err, context.Canceled) {
			printError(streams, err)
		}
		return failure.Interrupted
	}
	printError(streams, err)
	return failure.CodeOf(err)
}

// New returns the root command with all its subcommands.
func New(streams cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gatemark",
		Short: "Measure how Kubernetes gateways behave under change, scale, load and failure",
		Long: `gatemark measures what the Gateway API conformance tests do not: how an
implementation behaves under change, scale, load and failure, what that costs,
and how sure we are.

Without a cluster of your own, gatemark run makes a real one on this machine,
in a network namespace without a way out.`,
		SilenceUsage:  true,
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.Err)
	cmd.SetIn(streams.In)
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return failure.Hint(failure.WithCode(err, failure.Usage), c.CommandPath()+" --help")
	})
	cmd.AddCommand(commands(streams)...)
	// cobra's own message for an unknown command carries no exit code.
	cmd.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		err := fmt.Errorf("unknown command %q", args[0])
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			err = failure.Hint(err, "did you mean: gatemark "+strings.Join(near, ", gatemark "))
		}
		return failure.WithCode(err, failure.Usage)
	}
	cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return cmd
}

func printError(streams cli.Streams, err error) {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i, line := range lines {
		prefix := "gatemark: "
		if i > 0 && strings.HasPrefix(line, " ") {
			prefix = "          "
		}
		fmt.Fprintln(streams.Err, prefix+line)
	}
	for _, hint := range failure.Hints(err) {
		fmt.Fprintln(streams.Err, "hint:     "+strings.ReplaceAll(hint, "\n", "\n          "))
	}
}

func commands(streams cli.Streams) []*cobra.Command {
	return []*cobra.Command{
		run.New(streams),
		report.New(streams),
		implementations.New(streams),
		clean.New(streams),
		up.New(streams),
		down.New(streams),
		status.New(streams),
		kubeconfig.New(streams),
		kubectl.New(streams),
		load.New(streams),
		echo.New(streams),
		version.New(streams),
		supervise.New(streams),
		runner.New(streams),
		attacker.New(streams),
		sampler.New(streams),
		truth.New(streams),
	}
}
