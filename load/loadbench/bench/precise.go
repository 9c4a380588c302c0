package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/stage"
	"github.com/gatemark/gatemark/stat"
	"github.com/parquet-go/parquet-go"
)

// A Precise is a run of gatemark with a record of each request: by how much its
// times are longer than the delay that the server applied to that request.
type Precise struct {
	Run
	// Records is how many there are, Answered how many of these have a delay
	// to be compared with.
	Records  int64 `json:"records"`
	Answered int64 `json:"answered"`
	// Latency counts from when a request was due, Service from its sending;
	// both less the delay.
	Latency Excess `json:"latency"`
	Service Excess `json:"service"`
	// Calm has those of requests that were due while no hypervisor took time
	// from the cores.
	Calm struct {
		Records int64  `json:"records"`
		Latency Excess `json:"latency"`
		Service Excess `json:"service"`
	} `json:"calm"`
}

// An Excess is a distribution in seconds. Within50 is the share of all records
// that are within 50 µs.
type Excess struct {
	P50      float64 `json:"p50"`
	P99      float64 `json:"p99"`
	P999     float64 `json:"p99.9"`
	Max      float64 `json:"max"`
	Within50 float64 `json:"within50"`
}

// recordedRow is what is needed of the columns of gatemark's records, in
// nanoseconds.
type recordedRow struct {
	Due     int64  `parquet:"due"`
	Latency int64  `parquet:"latency"`
	Service *int64 `parquet:"service,optional"`
	Delay   *int64 `parquet:"delay,optional"`
}

// precise holds each of gatemark's requests against what the server did to it.
// Neither side sleeps: how long a core takes to wake up would be in all times,
// and is nothing that a load generator could help.
func (b *bench) precise(ctx context.Context) error {
	rate, duration := 5000.0, time.Second
	if b.Full {
		// A million requests.
		duration = 200 * time.Second
	}
	for _, t := range b.gatemarks() {
		err := b.Progress.Do(ctx, "truth of each request: "+t.Name, func(ctx context.Context, _ func(string, ...any)) error {
			p, err := b.preciseRun(ctx, t, rate, duration)
			b.out.Precise = append(b.out.Precise, p)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) preciseRun(ctx context.Context, t attack.Tool, rate float64, d time.Duration) (p Precise, err error) {
	folder, err := b.scratch("records")
	if err != nil {
		return p, err
	}
	path := filepath.Join(folder, "records.parquet")
	job := attack.Job{Protocol: attack.HTTP1, Connections: 16, Streams: 1, Duration: d, Rate: rate, Records: path, Spin: 200 * time.Microsecond}
	var taken stolen
	k, err := b.knownRun(ctx, t, job, "each request", []string{"--delay", "fixed:1ms", "--spin"}, func(ctx context.Context, _ *knownServer, p *stage.Process) error {
		return taken.watch(ctx, p)
	})
	p.Run = k.Run
	if err != nil || p.Failed != "" {
		return p, err
	}
	rows, started, err := readRecords(path)
	if err != nil {
		return p, fmt.Errorf("read %s's records: %w", t.Name, err)
	}
	p.compare(rows, func(due int64) bool { return taken.calm(started.Add(time.Duration(due))) })
	return p, os.RemoveAll(folder)
}

// readRecords returns the records, and when the schedule started.
func readRecords(path string) ([]recordedRow, time.Time, error) {
	rows, err := parquet.ReadFile[recordedRow](path)
	if err != nil {
		return nil, time.Time{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	opened, err := parquet.OpenFile(file, about.Size())
	if err != nil {
		return nil, time.Time{}, err
	}
	text, _ := opened.Lookup("started")
	started, err := time.Parse(time.RFC3339Nano, text)
	return rows, started, err
}

func (p *Precise) compare(rows []recordedRow, calm func(due int64) bool) {
	var all, some struct{ latency, service []float64 }
	for _, r := range rows {
		undisturbed := calm(r.Due)
		if undisturbed {
			p.Calm.Records++
		}
		if r.Delay == nil || r.Service == nil {
			continue
		}
		latency, service := seconds(r.Latency-*r.Delay), seconds(*r.Service-*r.Delay)
		all.latency, all.service = append(all.latency, latency), append(all.service, service)
		if undisturbed {
			some.latency, some.service = append(some.latency, latency), append(some.service, service)
		}
	}
	p.Records, p.Answered = int64(len(rows)), int64(len(all.latency))
	p.Latency, p.Service = excess(all.latency, len(rows)), excess(all.service, len(rows))
	p.Calm.Latency, p.Calm.Service = excess(some.latency, int(p.Calm.Records)), excess(some.service, int(p.Calm.Records))
}

// excess describes samples. Records without one count as not within 50 µs.
func excess(samples []float64, records int) Excess {
	if len(samples) == 0 {
		return Excess{}
	}
	slices.Sort(samples)
	at := func(q float64) float64 { return samples[stat.Rank(q, len(samples))-1] }
	const limit = 50e-6
	within, _ := slices.BinarySearch(samples, limit)
	return Excess{P50: at(0.5), P99: at(0.99), P999: at(0.999), Max: at(1), Within50: float64(within) / float64(records)}
}
