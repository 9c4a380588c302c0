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
		Rate: job.Rate, Duration: job.Duration.Seconds(), Served: -1,
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
	started := time.Now()
	p, err := at.path.Attacker.Start(stage.Command{Args: append([]string{path}, args...), Env: b.Environment(path)})
	if err != nil {
		return run, err
	}
	limited, cancel := context.WithTimeout(ctx, job.Duration+patience)
	defer cancel()
	watched := make(chan error, 1)
	go func() {
		if watch == nil {
			watched <- nil
			return
		}
		watched <- watch(limited, p)
	}()
	failed := p.Wait(limited)
	run.Wall = time.Since(started).Seconds()
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
	run.account(before, after, p.Usage())
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

// counters are what is read before and after a run.
type counters struct {
	cpu    stage.CPUTime
	server time.Duration
	served int64
}

func read(at target) (c counters, err error) {
	c.served = -1
	if at.served != nil {
		if c.served, err = at.served(); err != nil {
			return c, err
		}
	}
	if c.server, err = at.process.CPU(); err != nil {
		return c, fmt.Errorf("the server has ended: %w", err)
	}
	c.cpu, err = stage.ReadCPU()
	return c, err
}

func (r *Run) account(before, after counters, used stage.Usage) {
	r.CPU, r.MaxRSS = used.CPU.Seconds(), used.MaxRSS
	r.Server = (after.server - before.server).Seconds()
	r.Machine = (after.cpu.Busy - before.cpu.Busy).Seconds()
	r.AttackerCore = (after.cpu.Cores[stage.AttackerCPU] - before.cpu.Cores[stage.AttackerCPU]).Seconds()
	r.Stolen = (after.cpu.Stolen - before.cpu.Stolen).Seconds()
	if after.served >= 0 {
		// The reading itself is a request.
		r.Served = after.served - before.served - 1
	}
}
