package bench

import (
	"context"
	"fmt"

	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/stage"
)

// A cell is what all tools are asked to do in turn.
type cell struct {
	service     stage.Service
	protocol    attack.Protocol
	connections int
	streams     int
	rounds      int
	path        stage.Path
}

func (c cell) String() string {
	s := fmt.Sprintf("%s, %s, %d connections", c.service, c.path.Name, c.connections)
	if c.streams > 1 {
		s += fmt.Sprintf(" of %d streams", c.streams)
	}
	return s
}

// cost measures requests per CPU-second over HTTP/1.1.
func (b *bench) cost(ctx context.Context) error {
	var cells []cell
	for _, path := range b.network.Paths {
		for _, n := range b.Connections {
			cells = append(cells, cell{stage.HTTP, attack.HTTP1, n, 1, b.Rounds, path})
		}
	}
	return b.cells(ctx, cells)
}

// protocols measures the same over TLS, HTTP/2 and gRPC.
func (b *bench) protocols(ctx context.Context) error {
	const connections, connectionsOfStreams, streams = 64, 16, 16
	paths, rounds := b.network.Paths, b.Rounds
	if !b.Full {
		paths, rounds = paths[:1], 1
	}
	var cells []cell
	for _, path := range paths {
		cells = append(cells,
			cell{stage.HTTPS, attack.HTTP1, connections, 1, rounds, path},
			cell{stage.H2C, attack.HTTP2, connectionsOfStreams, streams, rounds, path},
			cell{stage.GRPC, attack.GRPC, connectionsOfStreams, streams, rounds, path},
		)
		if b.Full {
			cells = append(cells, cell{stage.H2TLS, attack.HTTP2, connectionsOfStreams, streams, rounds, path})
		}
	}
	return b.cells(ctx, cells)
}

func (b *bench) cells(ctx context.Context, cells []cell) error {
	server, err := b.nginx(ctx)
	if err != nil {
		return err
	}
	for _, c := range cells {
		at := target{c.service, c.path, c.service.URL(c.path), server.Process, server.Served}
		err := b.Progress.Do(ctx, c.String(), func(ctx context.Context, update func(string, ...any)) error {
			return b.rounds(ctx, c, at, update)
		})
		if err != nil {
			return err
		}
	}
	return server.Stop()
}

func (b *bench) rounds(ctx context.Context, c cell, at target, update func(string, ...any)) error {
	job := attack.Job{URL: at.url, Protocol: c.protocol, Connections: c.connections, Streams: c.streams, Duration: b.Duration}
	var tools []attack.Tool
	for _, t := range b.Tools {
		if t.Speaks(job) == nil {
			tools = append(tools, t)
		}
	}
	broken := map[string]bool{}
	for round := range c.rounds {
		for i, t := range b.shuffled(tools) {
			if broken[t.Name] {
				continue
			}
			update("round %d of %d, tool %d of %d: %s", round+1, c.rounds, i+1, len(tools), t.Name)
			var watched Span
			run, err := b.attempt(ctx, t, job, at, func(ctx context.Context, p *stage.Process) (err error) {
				watched, err = steady(ctx, p, at, job.Duration)
				return err
			})
			if err != nil {
				return err
			}
			run.Round, run.Steady = round, watched
			// What fails once fails again, and takes time.
			broken[t.Name] = run.Failed != ""
			b.out.Cost = append(b.out.Cost, run)
		}
	}
	return nil
}
