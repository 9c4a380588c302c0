package echo

import (
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/gatemark/gatemark/echo/fault"
)

// delays records what requests really waited, in ns, to three digits.
type delays struct {
	mu        sync.Mutex
	histogram *hdrhistogram.Histogram
}

// DelayCounts is what requests really waited, in nanoseconds. Histogram is all
// of it, as HdrHistogram's compressed encoding (version 2) in base64: those of
// several servers merge without loss.
type DelayCounts struct {
	Count     int64   `json:"count"`
	Min       int64   `json:"min"`
	Mean      float64 `json:"mean"`
	P50       int64   `json:"p50"`
	P90       int64   `json:"p90"`
	P99       int64   `json:"p99"`
	P999      int64   `json:"p99.9"`
	Max       int64   `json:"max"`
	Histogram string  `json:"histogram,omitempty"`
}

func (d *delays) init() { d.histogram = hdrhistogram.New(1, int64(fault.Longest), 3) }

func (d *delays) record(waited time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// A request can wait longer than the longest that can be asked for.
	if err := d.histogram.RecordValue(min(int64(waited), d.histogram.HighestTrackableValue())); err != nil {
		panic(fmt.Sprintf("record %v: %v", waited, err))
	}
}

func (d *delays) counts() DelayCounts {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.histogram
	if h.TotalCount() == 0 {
		return DelayCounts{}
	}
	encoded, err := h.EncodeV2() // in base64 already
	if err != nil {
		panic(fmt.Sprintf("encode a histogram: %v", err)) // into memory: cannot fail
	}
	return DelayCounts{
		Count: h.TotalCount(), Min: h.Min(), Mean: h.Mean(), Max: h.Max(),
		P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9),
		Histogram: string(encoded),
	}
}
