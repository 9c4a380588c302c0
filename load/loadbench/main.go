// Command loadbench compares gatemark's load engine with other load generators:
// what a request costs, how well a schedule is kept, and whether what is told
// is true. It is not part of gatemark's binary; `make bench-load` runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/spf13/cobra"
)

func main() {
	// The first signal ends the run in order; the second ends it at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := command().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if errors.Is(err, context.Canceled) {
		err = failure.WithCode(errors.New("interrupted"), failure.Interrupted)
	}
	fmt.Fprintln(os.Stderr, "loadbench: error:", err)
	for _, hint := range failure.Hints(err) {
		fmt.Fprintln(os.Stderr, "loadbench: hint:", hint)
	}
	os.Exit(int(failure.CodeOf(err)))
}

func command() *cobra.Command {
	c := measureCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return failure.WithCode(err, failure.Usage) })
	c.AddCommand(reportCommand(), floorCommand(), knownServerCommand())
	return c
}
