package bench

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/known"
	"github.com/gatemark/gatemark/stat"
)

// truthOf makes the truth from the server's records. Rate is that which was
// asked for, 0 for none; d is how long it was asked for.
func truthOf(records []known.Record, rate float64, d time.Duration) Truth {
	t := Truth{Requests: int64(len(records))}
	ordered := slices.Clone(records)
	slices.SortStableFunc(ordered, func(a, b known.Record) int { return cmp.Compare(a.Arrived, b.Arrived) })
	var sent []float64
	for _, r := range ordered {
		switch r.Outcome {
		case known.Failed:
			t.Failed++
		case known.Reset:
			t.Reset++
		case known.Open:
			t.Open++
		}
		if answered(r) {
			sent = append(sent, seconds(r.Written-r.Arrived))
		}
	}
	t.Sent = quantiles(sent, 0)
	if n := len(ordered); n > 1 {
		t.Rate = float64(n-1) / seconds(ordered[n-1].Arrived-ordered[0].Arrived)
	}
	if rate > 0 {
		t.NotSent = max(0, int64(math.Floor(rate*d.Seconds()))-t.Requests)
		t.Due = quantiles(fromDue(ordered, rate), int(t.NotSent))
		t.Punctual, t.Late = punctuality(ordered, rate, t.NotSent)
	}
	return t
}

// never stands for longer than anybody waited; JSON knows no infinity.
const never = math.MaxFloat64

func answered(r known.Record) bool { return r.Outcome == known.Answered || r.Outcome == known.Failed }

// fromDue is how long each answered request waited since it was due: request
// number i, in order of arrival, i/rate after the first. A request that came
// before its turn waited since it came: a schedule with less regular gaps is no
// fault.
func fromDue(ordered []known.Record, rate float64) []float64 {
	var waited []float64
	for i, r := range ordered {
		if answered(r) {
			due := ordered[0].Arrived + int64(float64(i)/rate*1e9)
			waited = append(waited, seconds(r.Written-min(due, r.Arrived)))
		}
	}
	return waited
}

// punctuality holds arrivals against an even schedule of the rate. When that
// began is not known from here: it is laid so that one request in 100 came
// before its time. Requests that were never sent are late.
func punctuality(ordered []known.Record, rate float64, notSent int64) (share, late float64) {
	if len(ordered) == 0 {
		return 0, never
	}
	offsets := make([]float64, len(ordered))
	for i, r := range ordered {
		offsets[i] = seconds(r.Arrived-ordered[0].Arrived) - float64(i)/rate
	}
	slices.Sort(offsets)
	start := offsets[stat.Rank(0.01, len(offsets))-1]
	const tolerance = 1e-3
	within := 0
	for _, o := range offsets {
		if o-start <= tolerance && start-o <= tolerance {
			within++
		}
	}
	total := len(offsets) + int(notSent)
	late = never
	if k := stat.Rank(0.999, total); k <= len(offsets) {
		late = offsets[k-1] - start
	}
	return float64(within) / float64(total), late
}

// quantiles names them as attack.Report does. What lies among requests that
// were never sent is +Inf: longer than anybody waited.
func quantiles(samples []float64, censored int) map[string]float64 {
	if len(samples)+censored == 0 {
		return nil
	}
	slices.Sort(samples)
	total := len(samples) + censored
	at := func(q float64) float64 {
		if k := stat.Rank(q, total); k <= len(samples) {
			return samples[k-1]
		}
		return never
	}
	return map[string]float64{"p50": at(0.5), "p99": at(0.99), "p99.9": at(0.999), "max": at(1)}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
