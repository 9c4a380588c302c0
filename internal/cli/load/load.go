// Package load is the command that attacks a URL with the load engine.
package load

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/report/quantity"
)

const long = `Send requests to a URL and measure what becomes of each.

With --rate N it is an open loop: requests are due by the clock, whatever the
server does, and latency counts from when a request was due. So a server that
stalls cannot hide the requests that it delays. With --rate max it is a closed
loop: each connection sends as soon as it has its answer.

The URL may be a template: {0..49} stands for the numbers from 0 to 49, {a,b}
for a and b, {number} for the request's number. Requests take turns.

The verdict says whose numbers they are: ok, attacker-limited (gatemark itself
was the bottleneck: believe nothing) or backend-limited (the server did not keep
up with what was asked for).`

const examples = `  gatemark load --connections 64 --duration 10s --rate 5000 http://127.0.0.1:8080/
  gatemark load --connections 64 --duration 10s --rate max http://127.0.0.1:8080/
  gatemark load --rate 1000/30s,1000..5000/1m --arrival poisson --connections 100 https://gateway.example/
  gatemark load --rate 2000 --header 'Host: app-{0..49}.example.com' 'http://10.0.0.1/path-{0..15}'`

// New returns the command.
func New(streams cli.Streams) *cobra.Command { return newCommand(streams, run) }

func newCommand(streams cli.Streams, run func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:     "load URL",
		Short:   "Send requests to a URL and measure them",
		Long:    long,
		Example: examples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == (o.targets != "") {
				err := fmt.Errorf("want one URL, or --targets, got %d", len(args))
				return failure.WithCode(failure.Hint(err, "gatemark load --duration 10s --rate 1000 http://127.0.0.1:8080/"), failure.Usage)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.flags = cmd.Flags()
			if o.url = o.targets; len(args) > 0 {
				o.url = args[0]
			}
			return run(cmd.Context(), o)
		},
	}
	o.add(cmd)
	return cmd
}

func run(ctx context.Context, o *options) error {
	attack, err := o.attack()
	if err != nil {
		return failure.WithCode(err, failure.Usage)
	}
	var records *recordFile
	if o.records != "" {
		if records, err = createRecords(o.records, &attack); err != nil {
			return err
		}
	}
	result, err := o.watch(ctx, attack)
	if records != nil {
		if closeErr := records.close(result); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		return err
	}
	if !o.slices {
		result.Slices, result.ConnectTimes, result.HandshakeTimes = nil, nil, nil
	}
	if o.output == cli.JSON {
		return o.streams.PrintJSON(result)
	}
	return write(o.streams.Out, result)
}

// watch runs the attack, and shows how far it is.
func (o *options) watch(ctx context.Context, attack load.Options) (*load.Result, error) {
	step := o.streams.Progress().Step("attack " + o.url)
	var all load.Counts
	attack.Slice = func(s *load.Slice) {
		all.Merge(&s.Counts)
		step.Update("%s", soFar(s, &all))
	}
	result, err := load.Run(ctx, attack)
	if err != nil {
		step.Fail()
		return nil, err
	}
	step.Conclude("%s requests, %s/s, %s", number(float64(result.Requests)), number(result.AchievedRate), result.Verdict)
	step.Done()
	return result, nil
}

// soFar says how far an attack is, after a slice.
func soFar(s *load.Slice, all *load.Counts) string {
	text := fmt.Sprintf("%v: %s requests/s", s.End.Round(time.Second), number(float64(s.Requests())/(s.End-s.Start).Seconds()))
	if fine := s.Classes[load.OK]; fine != nil {
		text += ", p99 " + quantity.Write(float64(fine.Latency.Quantile(0.99))/1e9, "s")
	}
	bad := all.Requests()
	if fine := all.Classes[load.OK]; fine != nil {
		bad -= fine.Count
	}
	if bad > 0 {
		text += fmt.Sprintf(", %d of %d failed so far", bad, all.Requests())
	}
	return text
}
