package truth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/controlplane"
	"github.com/gatemark/gatemark/truth/fault"
	"github.com/gatemark/gatemark/truth/feed"
	"github.com/gatemark/gatemark/truth/pods"
)

type controlOptions struct {
	streams   cli.Streams
	placement pods.Placement
	listen    string
	faults    string
}

func newControl(streams cli.Streams, run func(context.Context, *controlOptions) error) *cobra.Command {
	o := &controlOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "control",
		Short: "Run the control plane, in a pod",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.placement.Image, "image", "", "image of the replicas: gatemark's")
	flags.IntVar(&o.placement.Replicas, "replicas", 2, "replicas of each Gateway")
	flags.StringVar(&o.placement.Control, "url", "", "where replicas reach this control plane: http://host:port")
	flags.StringVar(&o.listen, "listen", ":8088", "address for replicas")
	flags.StringVar(&o.faults, "faults", "", "what is wrong, as JSON")
	return cmd
}

func (o *controlOptions) complete() error {
	if o.placement.Image == "" || o.placement.Control == "" || o.placement.Replicas < 1 {
		return failure.WithCode(errors.New("needs --image, --url and at least one of --replicas"), failure.Usage)
	}
	var err error
	o.placement.Faults, err = readFaults(o.faults)
	return err
}

func control(ctx context.Context, o *controlOptions) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("reach the API server from the pod: %w", err)
	}
	if o.placement.Kube, err = kube.New(ctx, config, kube.Agent("truth"), kube.Patience(time.Minute)); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen for replicas: %w", err)
	}
	snapshots := new(feed.Feed)
	mux := http.NewServeMux()
	mux.Handle(feed.Path, snapshots.Handler())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer server.Close()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(fmt.Errorf("listen for replicas: %w", <-served)) }()
	faults := new(fault.Switch)
	faults.Set(o.placement.Faults)
	err = controlplane.Run(ctx, controlplane.Options{
		Kube: o.placement.Kube, Feed: snapshots, Placement: &o.placement, Faults: faults,
		Log: slog.New(slog.NewTextHandler(o.streams.Err, nil)),
	})
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}
