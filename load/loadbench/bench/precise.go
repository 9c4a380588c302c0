package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/attack"
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
	Latency int64  `parquet:"latency"`
	Service *int64 `parquet:"service,optional"`
	Delay   *int64 `parquet:"delay,optional"`
}

// precise holds each of gatemark's requests against what the server did to it.
func (b *bench) precise(ctx context.Context) error {
	rate, duration := 5000.0, time.Second
	if b.Full {
		// A million requests.
		rate, duration = 20000, 50*time.Second
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
	job := attack.Job{Protocol: attack.HTTP1, Connections: 64, Streams: 1, Duration: d, Rate: rate, Records: path}
	k, err := b.knownRun(ctx, t, job, "each request", []string{"--delay", "fixed:1ms"}, nil)
	p.Run = k.Run
	if err != nil || p.Failed != "" {
		return p, err
	}
	rows, err := parquet.ReadFile[recordedRow](path)
	if err != nil {
		return p, fmt.Errorf("read %s's records: %w", t.Name, err)
	}
	p.compare(rows)
	return p, errors.Join(err, os.RemoveAll(folder))
}

func (p *Precise) compare(rows []recordedRow) {
	var latency, service []float64
	for _, r := range rows {
		if r.Delay != nil && r.Service != nil {
			latency = append(latency, seconds(r.Latency-*r.Delay))
			service = append(service, seconds(*r.Service-*r.Delay))
		}
	}
	p.Records, p.Answered = int64(len(rows)), int64(len(latency))
	p.Latency, p.Service = excess(latency, len(rows)), excess(service, len(rows))
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
