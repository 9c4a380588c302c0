package addedlatency

import (
	"context"
	"math"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario/attack"
)

// An upstream is what requests are for: it is behind the gateway, and asked
// straight on the direct path.
type upstream interface {
	// prepare sets the stage, and returns when requests through the gateway are
	// answered as those on the direct path are.
	prepare(ctx context.Context) error
	// aim says what a measurement's requests are, and where they go.
	aim(ctx context.Context, w way, o *load.Options) error
}

func (t *trial) measure(ctx context.Context, w way) (*seen, error) {
	o := t.options()
	if err := t.upstream.aim(ctx, w, &o); err != nil {
		return nil, err
	}
	one, err := t.Measure(ctx, o)
	if err != nil {
		return nil, err
	}
	one.Counts = load.Counts{} // its histograms are large; the slices have them packed
	return &seen{way: w, Seen: one}, nil
}

// options are what all measurements have in common.
func (t *trial) options() load.Options {
	length := t.Values.Duration("warmup") + t.Values.Duration("duration")
	return load.Options{
		Rate: load.Steady(float64(t.rate), length), Duration: length, Warmup: t.Values.Duration("warmup"),
		Connections: t.Values.Int("connections"), Timeout: t.Values.Duration("timeout"), Whole: true,
	}
}

// judge gives every measurement its verdict.
func (t *trial) judge() {
	for _, one := range t.seen {
		one.JudgeAlone(t.CPUs * t.BackendNodes)
	}
}

// A judged block is one with all that was seen of it.
type judged struct {
	block
	number int
	// verdict is that of the block: of the first measurement that is no evidence,
	// or of the gateway's.
	verdict attack.Verdict
	seen    map[way]*seen
}

// judged are all blocks, in their order.
func (t *trial) judged() []judged {
	var all []judged
	for _, one := range t.seen {
		if one.block == len(all) {
			all = append(all, judged{number: one.block, seen: map[way]*seen{}})
		}
		all[one.block].seen[one.way] = one
	}
	for i := range all {
		all[i].conclude()
	}
	return all
}

func (b *judged) conclude() {
	b.verdict = b.seen[gateway].Verdict
	for _, w := range []way{direct, directAgain} {
		switch one := b.seen[w]; {
		case !b.verdict.Valid():
		case one.Verdict == attack.NotCarried:
			b.verdict = attack.DirectSaturated
		case one.Verdict != attack.Fine:
			b.verdict = one.Verdict
		}
	}
	b.gateway, b.direct = b.seen[gateway].sample(), [2]sample{b.seen[direct].sample(), b.seen[directAgain].sample()}
	for _, one := range b.seen {
		if one.Result.Latency == nil && b.verdict.Valid() {
			b.verdict = nothingAnswered
		}
	}
}

// nothingAnswered is of a measurement in which no request ended well: it has no
// latency, and the errors are a finding.
const nothingAnswered attack.Verdict = "nothing was answered"

// sample is the latency of requests that ended well.
func (one *seen) sample() (s sample) {
	for i := range s {
		s[i] = math.NaN()
		if one.Result.Latency != nil {
			s[i] = quantiles[i].of(one.Result.Latency)
		}
	}
	return s
}

// together are the counts of measurements, their warm-ups left out.
func together(all []*seen) load.Counts {
	var sum load.Counts
	sum.Merge(&load.Counts{})
	for _, one := range all {
		for _, s := range one.Result.Slices {
			if s.Window != load.WarmUp {
				sum.Merge(&s.Counts)
			}
		}
	}
	return sum
}
