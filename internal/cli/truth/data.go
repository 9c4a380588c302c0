package truth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/dataplane"
	"github.com/gatemark/gatemark/truth/fault"
	"github.com/gatemark/gatemark/truth/feed"
)

type dataOptions struct {
	source feed.Remote
	drain  time.Duration
	faults string
	wrong  fault.Switch
}

func newData(_ cli.Streams, run func(context.Context, *dataOptions) error) *cobra.Command {
	o := &dataOptions{}
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Run a replica of a Gateway's data plane, in a pod",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.source.Gateway, "gateway", "", "the Gateway: namespace/name")
	flags.StringVar(&o.source.Control, "control", "", "the control plane: http://host:port")
	flags.DurationVar(&o.drain, "drain", 5*time.Second, "how long to go on serving, no longer ready, after the signal to stop")
	flags.StringVar(&o.faults, "faults", "", "what is wrong, as JSON")
	return cmd
}

func (o *dataOptions) complete() error {
	if !strings.Contains(o.source.Gateway, "/") || o.source.Control == "" {
		return failure.WithCode(errors.New("needs --gateway NAMESPACE/NAME and --control"), failure.Usage)
	}
	faults, err := readFaults(o.faults)
	o.wrong.Set(faults)
	if faults.OneCore {
		runtime.GOMAXPROCS(1)
	}
	return err
}

func data(ctx context.Context, o *dataOptions) error {
	replica := dataplane.New(o.source, dataplane.Options{Faults: &o.wrong, Drain: o.drain, Crash: func() { os.Exit(1) }})
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", config.AdminPort))
	if err != nil {
		return fmt.Errorf("listen for the admin: %w", err)
	}
	admin := &http.Server{Handler: replica.Admin(), ReadHeaderTimeout: 10 * time.Second}
	defer admin.Close()
	served := make(chan error, 1)
	go func() { served <- admin.Serve(listener) }()
	ran := make(chan error, 1)
	go func() { ran <- replica.Run(ctx) }()
	select {
	case err := <-served:
		return fmt.Errorf("listen for the admin: %w", err)
	case err := <-ran:
		return err
	}
}
