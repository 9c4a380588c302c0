// Package attacker is the command that attacks as it is told, in a pod of the
// cluster. Users do not call it: scenarios have it run.
package attacker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/load/attacker"
)

// TokenVariable is the environment variable with the token, where there is no
// file. Arguments are for everybody on the machine to read.
const TokenVariable = "GATEMARK_TOKEN"

type options struct {
	streams   cli.Streams
	address   string
	tokenFile string
	token     string
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command { return newCommand(streams, serve) }

func newCommand(streams cli.Streams, run func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:    "attacker",
		Short:  "Attack as told, in a pod of the cluster (called by scenarios)",
		Args:   cli.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.readToken(os.Getenv(TokenVariable)); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.address, "address", ":8089", "address to be told on")
	cmd.Flags().StringVar(&o.tokenFile, "token-file", "", "file with the token that whoever tells must know (default: $"+TokenVariable+")")
	return cmd
}

func (o *options) readToken(environment string) error {
	o.token = environment
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return failure.WithCode(fmt.Errorf("--token-file: %w", err), failure.Usage)
		}
		o.token = strings.TrimSpace(string(text))
	}
	if o.token == "" {
		err := errors.New("no token: an attacker without one would attack for anybody")
		return failure.WithCode(failure.Hint(err, "put a random text into a file for --token-file, or into $"+TokenVariable), failure.Usage)
	}
	return nil
}

// serve attacks as it is told until the context ends.
func serve(ctx context.Context, o *options) error {
	server, err := attacker.NewServer(o.token)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return fmt.Errorf("listen to be told: %w", err)
	}
	fmt.Fprintf(o.streams.Err, "attacker is told on %s\n", listener.Addr())
	web := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err = <-served:
		return fmt.Errorf("listen to be told: %w", err)
	case <-ctx.Done():
		// The attack ends with the process. Whoever started it must learn that
		// it is lost, so nothing waits for its end.
		return web.Close()
	}
}
