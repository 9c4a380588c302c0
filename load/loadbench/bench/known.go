package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/known"
	"github.com/gatemark/gatemark/load/loadbench/stage"
)

const knownPort = 8090

// knownServer is this program as the server that knows the truth.
type knownServer struct {
	*stage.Process
	records string
}

func (b *bench) startKnown(ctx context.Context, args ...string) (*knownServer, error) {
	folder, err := b.scratch("known")
	if err != nil {
		return nil, err
	}
	s := &knownServer{records: filepath.Join(folder, "records")}
	args = append([]string{b.Self, "known-server", "--listen", fmt.Sprintf("0.0.0.0:%d", knownPort), "--records", s.records}, args...)
	if s.Process, err = b.network.Server.Start(stage.Command{Args: args, Env: os.Environ()}); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := b.network.Server.Do(func() error {
			c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(knownPort)), time.Second)
			if err != nil {
				return err
			}
			return c.Close()
		})
		if err == nil {
			return s, nil
		}
		select {
		case <-s.Ended():
			return nil, fmt.Errorf("the known server ended at its start: %w", s.Wait(ctx))
		default:
		}
		if err := ctx.Err(); err != nil || time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("the known server does not answer: %w", err), s.Kill())
		}
	}
}

// finish ends the server and returns its records.
func (s *knownServer) finish(ctx context.Context) ([]known.Record, error) {
	if err := s.Stop(); err != nil {
		return nil, err
	}
	if err := s.Wait(ctx); err != nil {
		return nil, err
	}
	records, err := known.ReadRecords(s.records)
	return records, errors.Join(err, os.Remove(s.records))
}

// knownRun runs a tool against a known server of its own. While it runs, watch is
// called with the server and the tool, if it is not nil.
func (b *bench) knownRun(ctx context.Context, t attack.Tool, job attack.Job, what string, args []string, watch func(context.Context, *knownServer, *stage.Process) error) (Known, error) {
	k := Known{Case: what, Loop: t.Loop}
	if job.Rate == 0 {
		k.Loop = attack.Closed
	}
	s, err := b.startKnown(ctx, args...)
	if err != nil {
		return k, err
	}
	path := b.network.Paths[0]
	at := target{stage.HTTP, path, fmt.Sprintf("http://%s:%d/", path.Host, knownPort), s.Process, nil}
	var during func(context.Context, *stage.Process) error
	if watch != nil {
		during = func(ctx context.Context, p *stage.Process) error { return watch(ctx, s, p) }
	}
	if k.Run, err = b.attempt(ctx, t, job, at, during); err != nil {
		return k, errors.Join(err, s.Kill())
	}
	records, err := s.finish(ctx)
	if err != nil {
		return k, err
	}
	k.True = truthOf(records, job.Rate, job.Duration)
	return k, nil
}
