// Package echo is the command that runs gatemark's backend.
package echo

import (
	"context"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/spf13/cobra"
)

type options struct {
	streams cli.Streams
	server  echo.Options
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	return newCommand(streams, run)
}

func newCommand(streams cli.Streams, run func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:   "echo",
		Short: "Answer requests and tell which pod and route did",
		Long: `Run gatemark's backend. It answers every request with 200, tells its pod and
instance, and reflects the marker that the route set on the way. A request asks
for a body with ?size=BYTES or the header field Gatemark-Size.

The admin port serves /counters (JSON), /healthz and /readyz.`,
		Example: "  gatemark echo --listen 127.0.0.1:8080 --admin 127.0.0.1:8081",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.server.Listen, "listen", ":8080", "address for requests")
	flags.StringVar(&o.server.Admin, "admin", ":8081", "address for counters and health, empty for none")
	flags.StringVar(&o.server.Pod, "pod", "", "name to answer with (default: the host's name)")
	flags.DurationVar(&o.server.Drain, "drain", 5*time.Second, "how long to go on serving, no longer ready, after the signal to stop")
	return cmd
}

func run(ctx context.Context, o *options) error {
	if o.server.Drain < 0 {
		return failure.WithCode(fmt.Errorf("--drain %v is negative", o.server.Drain), failure.Usage)
	}
	server, err := echo.Listen(o.server)
	if err != nil {
		return failure.Hint(err, "choose another port with --listen or --admin")
	}
	fmt.Fprintf(o.streams.Err, "answering on %v\n", server.Address())
	if admin := server.AdminAddress(); admin != nil {
		fmt.Fprintf(o.streams.Err, "counters on http://%v/counters\n", admin)
	}
	return server.Serve(ctx)
}
