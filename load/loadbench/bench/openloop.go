package bench

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/stage"
)

// openLoop measures how well tools keep a schedule, what memory gatemark holds,
// and whether it can hold many connections.
func (b *bench) openLoop(ctx context.Context) error {
	most, err := b.most(ctx)
	if err != nil {
		return err
	}
	duration, rates := time.Second, []float64{10000, math.Round(most / 2)}
	if b.Full {
		duration, rates = 10*time.Second, []float64{1000, 10000, math.Round(most / 2)}
	}
	for _, rate := range rates {
		err := b.Progress.Do(ctx, fmt.Sprintf("open loop at %.0f requests per second", rate), func(ctx context.Context, update func(string, ...any)) error {
			for _, t := range b.shuffled(b.paced()) {
				update("%s", t.Name)
				job := attack.Job{Protocol: attack.HTTP1, Connections: 64, Streams: 1, Duration: duration, Rate: rate}
				k, err := b.knownRun(ctx, t, job, fmt.Sprintf("%.0f/s", rate), nil, nil)
				if err != nil {
					return err
				}
				b.out.Open = append(b.out.Open, k)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return b.hold(ctx)
}

// paced are the tools that can keep a rate.
func (b *bench) paced() []attack.Tool {
	var tools []attack.Tool
	for _, t := range b.Tools {
		if t.Loop != attack.Closed {
			tools = append(tools, t)
		}
	}
	return tools
}

// gatemarks are gatemark's engines.
func (b *bench) gatemarks() []attack.Tool {
	var tools []attack.Tool
	for _, t := range b.Tools {
		if strings.HasPrefix(t.Name, "gatemark ") {
			tools = append(tools, t)
		}
	}
	return tools
}

// most is how many requests per second the first tool gets from the known
// server in a closed loop.
func (b *bench) most(ctx context.Context) (rate float64, err error) {
	err = b.Progress.Do(ctx, "the maximum rate, of which half is asked for", func(ctx context.Context, update func(string, ...any)) error {
		t := b.Tools[0]
		k, err := b.knownRun(ctx, t, attack.Job{Protocol: attack.HTTP1, Connections: 64, Streams: 1, Duration: time.Second}, "maximum", nil, nil)
		if err != nil {
			return err
		}
		if k.Failed != "" {
			return fmt.Errorf("%s: %s", t.Name, k.Failed)
		}
		rate = k.True.Rate
		update("%.0f requests per second, by %s", rate, t.Name)
		return nil
	})
	return rate, err
}

// hold has gatemark hold many connections, and run for long.
func (b *bench) hold(ctx context.Context) error {
	if len(b.gatemarks()) == 0 {
		b.skip("no run with 10,000 connections and none that lasts: they are gatemark's own")
		return nil
	}
	server, err := b.nginx(ctx)
	if err != nil {
		return err
	}
	path := b.network.Paths[0]
	at := target{stage.HTTP, path, stage.HTTP.URL(path), server.Process, server.Served}
	for _, t := range b.gatemarks() {
		err := b.Progress.Do(ctx, "10,000 connections, "+t.Name, func(ctx context.Context, _ func(string, ...any)) error {
			run, err := b.attempt(ctx, t, attack.Job{Protocol: attack.HTTP1, Connections: 10000, Streams: 1, Duration: 2 * time.Second, Rate: 10000}, at, nil)
			b.out.Many = append(b.out.Many, run)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := b.last(ctx, b.gatemarks()[0], at); err != nil {
		return err
	}
	return server.Stop()
}

// last has a tool run for long, and samples its memory.
func (b *bench) last(ctx context.Context, t attack.Tool, at target) error {
	duration, every := 2*time.Second, 50*time.Millisecond
	if b.Full {
		duration, every = 10*time.Minute, time.Second
	}
	m := Memory{Every: every.Seconds()}
	return b.Progress.Do(ctx, fmt.Sprintf("memory over %v, %s", duration, t.Name), func(ctx context.Context, update func(string, ...any)) error {
		var err error
		job := attack.Job{Protocol: attack.HTTP1, Connections: 64, Streams: 1, Duration: duration, Rate: 10000}
		m.Run, err = b.attempt(ctx, t, job, at, func(ctx context.Context, p *stage.Process) error {
			for {
				select {
				case <-p.Ended():
					return nil
				case <-ctx.Done():
					return nil
				case <-time.After(every):
				}
				size, _, err := p.Memory()
				if err != nil {
					continue // it ends just now
				}
				m.Samples = append(m.Samples, size)
				update("%v of %v, %d MiB", time.Duration(len(m.Samples))*every, duration, size>>20)
			}
		})
		b.out.Memory = append(b.out.Memory, m)
		return err
	})
}
