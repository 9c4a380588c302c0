package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/floor"
	"github.com/gatemark/gatemark/load/loadbench/known"
	"github.com/spf13/cobra"
)

// floorCommand is this program as a load generator.
func floorCommand() *cobra.Command {
	var engine string
	var connections int
	var duration time.Duration
	c := &cobra.Command{
		Use:    "floor ADDRESS",
		Short:  "The system calls of a closed loop over HTTP/1.1, and nothing else",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			runtime.LockOSThread()
			result, err := floor.Run(engine, args[0], connections, duration)
			if err != nil {
				return err
			}
			if result.Broken > 0 {
				return fmt.Errorf("%d of %d reads did not hold one answer", result.Broken, result.Requests)
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(result)
		},
	}
	c.Flags().StringVar(&engine, "engine", "epoll", "epoll or io_uring")
	c.Flags().IntVar(&connections, "connections", 64, "connections")
	c.Flags().DurationVar(&duration, "duration", time.Second, "how long")
	return c
}

// knownServerCommand is this program as the server that knows the truth.
func knownServerCommand() *cobra.Command {
	var o known.Options
	var listen, delay, records string
	c := &cobra.Command{
		Use:    "known-server",
		Short:  "Serve until SIGTERM, and write what was true",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if o.Delay, err = known.ParseDelay(delay); err != nil {
				return err
			}
			s, err := known.Listen(listen, o)
			if err != nil {
				return err
			}
			stopped := make(chan error, 1)
			go func() {
				<-c.Context().Done()
				stopped <- s.Stop()
			}()
			runtime.LockOSThread()
			all, err := s.Run()
			if err != nil {
				return err
			}
			return errors.Join(<-stopped, known.WriteRecords(records, all))
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8090", "address")
	f.StringVar(&delay, "delay", "fixed:0s", "distribution of the delay")
	f.IntVar(&o.Pieces, "pieces", 1, "pieces of the body")
	f.DurationVar(&o.Gap, "gap", 0, "time between pieces")
	f.Int64Var(&o.FailEvery, "fail-every", 0, "answer each n-th request with 503")
	f.Int64Var(&o.ResetEvery, "reset-every", 0, "reset the connection at each n-th request")
	f.Uint64Var(&o.Seed, "seed", 1, "of random delays")
	f.BoolVar(&o.Spin, "spin", false, "never sleep")
	f.StringVar(&records, "records", "records", "file for the records")
	return c
}
