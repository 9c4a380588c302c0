// Package echo is the command that runs gatemark's backend.
package echo

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/echo/fault"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/spf13/cobra"
)

type options struct {
	streams cli.Streams
	server  echo.Options
	faults  string // JSON, or @FILE
	delay   time.Duration
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
instance, and reflects the marker that the route set on the way. It speaks
HTTP/1.1, HTTP/2, gRPC (any method, the messages come back) and WebSocket, and
receives CloudEvents. A request asks for a body with ?size=BYTES or the header
field Gatemark-Size, for a delay with Gatemark-Delay and for a status with
Gatemark-Status.

Faults are JSON: docs/echo.md describes them. The admin port serves /counters,
/faults (GET, PUT, PATCH, DELETE), /events, /metrics, /healthz and /readyz.`,
		Example: `  gatemark echo --listen 127.0.0.1:8080 --admin 127.0.0.1:8081
  gatemark echo --delay 5ms --faults '{"rules":[{"every":10000,"status":{"code":503}}]}'
  gatemark echo --tls :8443 --faults @faults.json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.server.Listen, "listen", ":8080", "address for requests")
	flags.StringVar(&o.server.Admin, "admin", ":8081", "address for counters, health and faults, empty for none")
	flags.StringVar(&o.server.TLS.Listen, "tls", "", "address for requests over TLS, empty for none")
	flags.StringVar(&o.server.TLS.Certificate, "cert", "", "certificate for --tls, a file in PEM (default: one of its own)")
	flags.StringVar(&o.server.TLS.Key, "key", "", "the certificate's key, a file in PEM")
	flags.StringVar(&o.server.TLS.ClientCA, "client-ca", "", "authorities of client certificates, a file in PEM")
	flags.BoolVar(&o.server.TLS.RequireClient, "require-client-cert", false, "refuse clients without a certificate")
	flags.StringVar(&o.server.Pod, "pod", "", "name to answer with (default: the host's name)")
	flags.DurationVar(&o.server.Drain, "drain", 5*time.Second, "how long to go on serving, no longer ready, after the signal to stop")
	flags.StringVar(&o.faults, "faults", "", "what goes wrong: JSON, or @FILE")
	flags.DurationVar(&o.delay, "delay", 0, "delay of every answer: a rule before those of --faults")
	flags.IntVar(&o.server.EventStatus, "event-status", 202, "answer to CloudEvents: 200, 202 or 204")
	return cmd
}

// complete checks the flags and makes the server's options of them.
func (o *options) complete() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if o.server.Drain < 0 {
		problem("--drain %v is negative", o.server.Drain)
	}
	if o.delay < 0 {
		problem("--delay %v is negative", o.delay)
	}
	if status := o.server.EventStatus; status != 0 && status != 200 && status != 202 && status != 204 {
		problem("--event-status %d is not 200, 202 or 204", status)
	}
	t := o.server.TLS
	if t.Listen == "" && (t.Certificate != "" || t.Key != "" || t.ClientCA != "" || t.RequireClient) {
		problem("--cert, --key, --client-ca and --require-client-cert need --tls")
	}
	if (t.Certificate == "") != (t.Key == "") {
		problem("--cert and --key need each other")
	}
	if t.RequireClient && t.ClientCA == "" {
		problem("--require-client-cert needs --client-ca")
	}
	if err := o.readFaults(); err != nil {
		problem("--faults: %w", err)
	}
	return failure.Problems(problems)
}

func (o *options) readFaults() error {
	text := []byte(o.faults)
	if file, ok := strings.CutPrefix(o.faults, "@"); ok {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	if len(text) > 0 {
		var err error
		if o.server.Faults, err = fault.Decode(text); err != nil {
			return err
		}
	}
	if o.delay > 0 {
		rule := fault.Rule{Name: "--delay", Delay: &fault.Delay{Fixed: fault.For(o.delay)}}
		o.server.Faults.Rules = append([]fault.Rule{rule}, o.server.Faults.Rules...)
	}
	_, err := fault.Compile(o.server.Faults, new(fault.Totals))
	return err
}

func run(ctx context.Context, o *options) error {
	if err := o.complete(); err != nil {
		return err
	}
	server, err := echo.Listen(o.server)
	if err != nil {
		return failure.Hint(err, "choose another port with --listen, --tls or --admin")
	}
	fmt.Fprintf(o.streams.Err, "answering on %v\n", server.Address())
	if secure := server.TLSAddress(); secure != nil {
		fmt.Fprintf(o.streams.Err, "answering TLS on %v\n", secure)
	}
	if admin := server.AdminAddress(); admin != nil {
		fmt.Fprintf(o.streams.Err, "counters on http://%v/counters, faults on /faults\n", admin)
	}
	return server.Serve(ctx)
}
