// Package runner is the command that measures, in a pod of the cluster. Users
// do not call it: gatemark run does.
package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/run/transfer"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
)

type options struct {
	streams cli.Streams
	config  string
	dir     string
	address string
	token   string
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:    "runner",
		Short:  "Measure, in a pod of the cluster (called by gatemark run)",
		Args:   cli.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.token = os.Getenv("GATEMARK_TOKEN")
			return serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "file with the runner's configuration")
	cmd.Flags().StringVar(&o.dir, "dir", "", "directory for results")
	cmd.Flags().StringVar(&o.address, "address", ":8080", "address to serve results on")
	return cmd
}

func serve(ctx context.Context, o *options) error {
	if o.token == "" {
		return failure.WithCode(errors.New("GATEMARK_TOKEN is empty: the runner answers to nobody without a token"), failure.Usage)
	}
	config, err := run.ReadConfig(o.config)
	if err != nil {
		return err
	}
	executor := &run.Executor{Config: config, Dir: result.Directory(o.dir), Node: os.Getenv("NODE_NAME"), Token: o.token}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return fmt.Errorf("serve results: %w", err)
	}
	server := &http.Server{Handler: transfer.Handler(o.token, executor.Dir, executor.Status), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer server.Close()
	rest, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("reach the API server from the pod: %w", err)
	}
	if executor.Kube, err = kube.New(ctx, rest, kube.Agent("runner")); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "run %s: %d trials\n", config.RunID, len(config.Schedule))
	if err := executor.Run(ctx); err != nil {
		fmt.Fprintf(o.streams.Err, "run %s: %v\n", config.RunID, err)
	}
	// The results stay available, and so does an error, until the session has
	// taken them and removes the pod.
	select {
	case <-ctx.Done():
		return nil
	case err := <-served:
		return fmt.Errorf("serve results: %w", err)
	}
}
