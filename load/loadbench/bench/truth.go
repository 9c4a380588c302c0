package bench

import (
	"context"
	"fmt"
	"math"
	"strings"
	"syscall"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/stage"
)

// A truthCase is what the known server does to requests.
type truthCase struct {
	name string
	args []string
	rate float64
	// stays is how long a request is with the server in the mean: closed
	// loops get as many connections as make for about the rate.
	stays time.Duration
	// stall is how long the server's process is stopped in the middle.
	stall time.Duration
	// least is how long a run lasts at least.
	least time.Duration
	// full cases are not in the quick form.
	full bool
}

const stall = 1400 * time.Millisecond

var truthCases = []truthCase{
	{name: "fixed delay of 2 ms", args: []string{"--delay", "fixed:2ms"}, rate: 2000, stays: 2 * time.Millisecond},
	{name: "exponential delay of mean 2 ms", args: []string{"--delay", "exponential:2ms"}, rate: 2000, stays: 2 * time.Millisecond, full: true},
	{name: "98 % after 1 ms, 2 % after 50 ms", args: []string{"--delay", "bimodal:1ms,50ms,0.02"}, rate: 2000, stays: 2 * time.Millisecond},
	{name: "slow trickle: 5 pieces, 4 ms apart", args: []string{"--delay", "fixed:1ms", "--pieces", "5", "--gap", "4ms"}, rate: 2000, stays: 17 * time.Millisecond, full: true},
	{name: "server stopped for 1.4 s, else 1 ms", args: []string{"--delay", "fixed:1ms"}, rate: 2000, stays: time.Millisecond, stall: stall, least: 3 * time.Second},
	{name: "1 of 10,000 fails, 1 ms", args: []string{"--delay", "fixed:1ms", "--fail-every", "10000"}, rate: 10000, stays: time.Millisecond, least: 2 * time.Second},
	{name: "1 of 500 is reset, 1 ms", args: []string{"--delay", "fixed:1ms", "--reset-every", "500"}, rate: 2000, stays: time.Millisecond},
}

// truth holds what tools tell against what a server knows.
func (b *bench) truth(ctx context.Context) error {
	duration := time.Second
	if b.Full {
		duration = 10 * time.Second
	}
	for _, c := range truthCases {
		if c.full && !b.Full {
			continue
		}
		err := b.Progress.Do(ctx, "truth: "+c.name, func(ctx context.Context, update func(string, ...any)) error {
			for _, t := range b.shuffled(b.Tools) {
				if strings.HasPrefix(t.Name, "floor ") {
					continue // it measures nothing
				}
				update("%s", t.Name)
				k, err := b.truthRun(ctx, t, c, max(duration, c.least))
				if err != nil {
					return err
				}
				b.out.Truth = append(b.out.Truth, k)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return b.precise(ctx)
}

func (b *bench) truthRun(ctx context.Context, t attack.Tool, c truthCase, d time.Duration) (Known, error) {
	job := attack.Job{Protocol: attack.HTTP1, Connections: 64, Streams: 1, Duration: d, Rate: c.rate, Detail: true}
	if t.Loop == attack.Closed {
		job.Rate = 0
		job.Connections = max(1, int(math.Round(c.rate*c.stays.Seconds())))
	}
	args := append([]string{"--seed", fmt.Sprint(b.Seed)}, c.args...)
	var during func(context.Context, *knownServer, *stage.Process) error
	if c.stall > 0 {
		during = func(ctx context.Context, s *knownServer, _ *stage.Process) error { return stop(ctx, s, d*2/5, c.stall) }
	}
	k, err := b.knownRun(ctx, t, job, c.name, args, during)
	if err == nil && job.Rate == 0 {
		// By the rate that was meant, these were due as well.
		k.True.NotSent = max(0, int64(c.rate*d.Seconds())-k.True.Requests)
	}
	return k, err
}

// stop stops the server's process after a while, and lets it go on.
func stop(ctx context.Context, s *knownServer, after, long time.Duration) error {
	if !sleep(ctx, after) {
		return nil
	}
	if err := s.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	sleep(ctx, long)
	if err := s.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("let the server go on: %w", err)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
