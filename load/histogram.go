package load

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Histogram counts durations in nanoseconds, to 3 significant digits: Gil
// Tene's HDR histogram. Histograms merge without loss. Its JSON is HdrHistogram's
// compressed V2 encoding in base64, which other tools read.
//
// A histogram is 270 KiB, whatever it holds. Those that only wait to be merged
// or written are packed to a few hundred bytes.
type Histogram struct {
	h      *hdrhistogram.Histogram // nil while packed
	packed []byte
}

// maxDuration is the longest duration that is told apart; longer ones count as
// this.
const maxDuration = time.Hour

// NewHistogram returns an empty one.
func NewHistogram() *Histogram {
	return &Histogram{h: hdrhistogram.New(1, int64(maxDuration), 3)}
}

// Record counts a duration in nanoseconds.
func (h *Histogram) Record(ns int64) {
	// It cannot fail between its bounds.
	_ = h.h.RecordValue(min(max(ns, 1), int64(maxDuration)))
}

// Count is the number of durations.
func (h *Histogram) Count() int64 { return h.unpacked().TotalCount() }

// Merge adds the counts of another.
func (h *Histogram) Merge(other *Histogram) {
	h.unpack()
	h.h.Merge(other.unpacked())
}

func (h *Histogram) reset() { h.h.Reset() }

// pack makes a histogram small until it changes.
func (h *Histogram) pack() {
	if h == nil || h.h == nil {
		return
	}
	packed, err := h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return // it stays large
	}
	h.packed, h.h = packed, nil
}

// unpacked is the histogram, which stays packed if it is.
func (h *Histogram) unpacked() *hdrhistogram.Histogram {
	if h.h != nil {
		return h.h
	}
	decoded, err := hdrhistogram.Decode(h.packed)
	if err != nil {
		panic(fmt.Sprintf("unpack a histogram that pack or UnmarshalText made: %v", err))
	}
	return decoded
}

func (h *Histogram) unpack() {
	if h.h == nil {
		full := NewHistogram()
		full.h.Merge(h.unpacked())
		h.h, h.packed = full.h, nil
	}
}

// Quantile is the smallest recorded duration that at least the share q of all
// do not exceed, in nanoseconds; 0 if there are none.
func (h *Histogram) Quantile(q float64) int64 { return h.unpacked().ValueAtPercentile(100 * q) }

// MarshalText is HdrHistogram's compressed encoding, in base64.
func (h *Histogram) MarshalText() ([]byte, error) {
	if h.h == nil {
		return h.packed, nil
	}
	return h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}

// UnmarshalText reads what MarshalText has written.
func (h *Histogram) UnmarshalText(text []byte) error {
	if _, err := hdrhistogram.Decode(text); err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	h.h, h.packed = nil, slices.Clone(text)
	return nil
}

// A Summary is what a histogram comes down to, in seconds. It is null in JSON
// where there was nothing to count.
type Summary struct {
	Count int64   `json:"count"`
	Min   float64 `json:"min"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99.9"`
	P9999 float64 `json:"p99.99"`
	Max   float64 `json:"max"`
}

// Summary returns nil for an empty histogram.
func (h *Histogram) Summary() *Summary {
	if h == nil || h.Count() == 0 {
		return nil
	}
	u := h.unpacked()
	s := func(ns float64) float64 { return math.Round(ns) / 1e9 }
	q := func(q float64) float64 { return s(float64(u.ValueAtPercentile(100 * q))) }
	return &Summary{
		Count: h.Count(), Min: s(float64(u.Min())), Mean: s(u.Mean()),
		P50: q(.5), P90: q(.9), P95: q(.95), P99: q(.99), P999: q(.999), P9999: q(.9999), Max: s(float64(u.Max())),
	}
}
