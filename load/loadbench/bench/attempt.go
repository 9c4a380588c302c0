package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/stage"
)

// A target is what a run attacks.
type target struct {
	service stage.Service
	path    stage.Path
	url     string
	// process is the server, served its own count of requests or nil.
	process *stage.Process
	served  func() (int64, error)
}

// patience is how much longer than asked a tool may take.
const patience = 30 * time.Second

// attempt runs a tool once. A tool that fails is a result; the error is for
// what makes further runs pointless. While it runs, watch is called with the
// process, if it is not nil.
func (b *bench) attempt(ctx context.Context, t attack.Tool, job attack.Job, at target, watch func(context.Context, *stage.Process) error) (Run, error) {
	run := Run{
		Tool: t.Name, Service: string(at.service), Path: at.path.Name, Connections: job.Connections, Streams: job.Streams,
		Rate: job.Rate, Duration: job.Duration.Seconds(),
	}
	job.URL = at.url
	var err error
	if job.Folder, err = b.folderOf(t); err != nil {
		return run, err
	}
	args, err := t.Args(job)
	if err != nil {
		return run, err
	}
	path, err := b.Find(t.Program)
	if err != nil {
		return run, err
	}
	before, err := read(at)
	if err != nil {
		return run, err
	}
	p, err := at.path.Attacker.Start(stage.Command{Args: append([]string{path}, args...), Env: b.Environment(path)})
	if err != nil {
		return run, err
	}
	limited, cancel := context.WithTimeout(ctx, job.Duration+patience)
	defer cancel()
	memory := make(chan int64, 1)
	go func() { memory <- mostMemory(p) }()
	watched := make(chan error, 1)
	go func() {
		if watch == nil {
			watched <- nil
			return
		}
		watched <- watch(limited, p)
	}()
	failed := p.Wait(limited)
	if err := <-watched; err != nil {
		return run, err
	}
	if err := ctx.Err(); err != nil {
		return run, context.Cause(ctx)
	}
	after, err := read(at)
	if err != nil {
		return run, fmt.Errorf("after %s: %w", t.Name, err)
	}
	run.Whole, run.MostMemory = span(before, after), <-memory
	run.Whole.CPU = p.Used().Seconds()
	if failed != nil {
		run.Failed = failed.Error()
		return run, nil
	}
	stdout, stderr := p.Output()
	if run.Report, err = t.Parse(job, attack.Output{Stdout: stdout, Stderr: stderr}); err != nil {
		run.Failed = err.Error()
	}
	return run, nil
}

// mostMemory is the most that a process has held, as seen ten times a second.
func mostMemory(p *stage.Process) (most int64) {
	for {
		// A process that has just ended has no memory to tell of.
		if _, so, err := p.Memory(); err == nil {
			most = so
		}
		select {
		case <-p.Ended():
			return most
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// counters are what is read at both ends of a span.
type counters struct {
	at             time.Time
	cpu            stage.CPUTime
	server, client time.Duration
	served         int64
}

func read(at target) (c counters, err error) {
	c.served = -1
	if at.served != nil {
		if c.served, err = at.served(); err != nil {
			return c, err
		}
	}
	if c.server, err = at.process.CPU(); err != nil {
		return c, fmt.Errorf("the server: %w", err)
	}
	c.at = time.Now()
	c.cpu, err = stage.ReadCPU()
	return c, err
}

func span(from, to counters) Span {
	s := Span{
		Seconds: to.at.Sub(from.at).Seconds(), Requests: -1,
		CPU:          (to.client - from.client).Seconds(),
		Server:       (to.server - from.server).Seconds(),
		Machine:      (to.cpu.Busy - from.cpu.Busy).Seconds(),
		AttackerCore: (to.cpu.Cores[stage.AttackerCPU] - from.cpu.Cores[stage.AttackerCPU]).Seconds(),
		Stolen:       (to.cpu.Stolen - from.cpu.Stolen).Seconds(),
	}
	if to.served >= 0 {
		// One of the readings is a request in between.
		s.Requests = to.served - from.served - 1
	}
	return s
}

// steady watches the part of a closed loop in which it surely attacks: from a
// third of its time, for connections must be opened, almost to its end. A tool
// that has ended by then leaves it empty; its own error says why.
func steady(ctx context.Context, p *stage.Process, at target, d time.Duration) (Span, error) {
	begun := time.Now()
	var edges [2]counters
	for i, share := range []float64{0.33, 0.95} {
		select {
		case <-ctx.Done():
			return Span{}, nil
		case <-p.Ended():
			return Span{}, nil
		case <-time.After(time.Until(begun.Add(time.Duration(share * float64(d))))):
		}
		var err error
		if edges[i], err = read(at); err != nil {
			return Span{}, err
		}
		if edges[i].client, err = p.CPU(); err != nil {
			return Span{}, nil // it has ended just now
		}
	}
	return span(edges[0], edges[1]), nil
}
