// Package sampler is the command that reads what a node's pods use, in a pod of
// that node. Users do not call it: gatemark run has it run.
package sampler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/measure/usage/sampler"
)

// The environment that the command reads, beside its flags: arguments are for
// everybody on the machine to read, and a pod's UID is known to the pod only.
const (
	TokenVariable = "GATEMARK_TOKEN"
	PodVariable   = "POD_UID"
)

type options struct {
	sampler.Options
	streams cli.Streams
	address string
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command { return newCommand(streams, serve) }

func newCommand(streams cli.Streams, run func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:    "sampler",
		Short:  "Read what a node's pods use, in a pod of that node (called by gatemark run)",
		Args:   cli.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Token, o.Pod = os.Getenv(TokenVariable), os.Getenv(PodVariable)
			if o.Token == "" || o.Pod == "" {
				return failure.WithCode(errors.New("$"+TokenVariable+" and $"+PodVariable+" must be set"), failure.Usage)
			}
			if o.Interval < sampler.LeastInterval {
				return failure.WithCode(fmt.Errorf("--interval %v is too short: at least %v", o.Interval, sampler.LeastInterval), failure.Usage)
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.address, "address", ":8090", "address to answer on")
	cmd.Flags().DurationVar(&o.Interval, "interval", sampler.DefaultInterval, "time from one sample to the next")
	cmd.Flags().StringVar(&o.Cgroups, "cgroups", "/sys/fs/cgroup", "where the node's cgroups are mounted")
	cmd.Flags().StringVar(&o.Proc, "proc", "/proc", "where the node's processes are mounted")
	return cmd
}

// serve samples and answers until the context ends.
func serve(ctx context.Context, o *options) error {
	s, err := sampler.New(o.Options)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(o.streams.Err, "sampler answers on %s\n", listener.Addr())
	web := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	sampled := make(chan error, 1)
	go func() { sampled <- s.Run(sampling) }()
	select {
	case err = <-served:
		stop()
		return errors.Join(fmt.Errorf("serve: %w", err), <-sampled)
	case err = <-sampled:
		return errors.Join(err, web.Close())
	}
}
