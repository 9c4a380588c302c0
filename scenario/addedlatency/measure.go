package addedlatency

import (
	"context"
	"fmt"
	"math"
	"slices"

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
	// account is what it has counted by itself, where that is not the backends'
	// part.
	account(ctx context.Context) (account, error)
	// String says where it is, in words.
	String() string
}

func (t *trial) measure(ctx context.Context, w way) (*seen, error) {
	o := t.options()
	if err := t.upstream.aim(ctx, w, &o); err != nil {
		return nil, err
	}
	before, err := t.upstream.account(ctx)
	if err != nil {
		return nil, err
	}
	one, err := t.Measure(ctx, o)
	if err != nil {
		return nil, err
	}
	after, err := t.upstream.account(ctx)
	if err != nil {
		return nil, err
	}
	one.Counts = load.Counts{} // its histograms are large; the slices have them packed
	if before != nil {
		one.Received.Requests = int64(after.minus(before)[configMaps].requests)
	}
	return &seen{way: w, Seen: one, account: after.minus(before)}, nil
}

// options are what all measurements have in common.
func (t *trial) options() load.Options {
	length := t.Values.Duration("warmup") + t.Values.Duration("duration")
	return load.Options{
		Rate: load.Steady(float64(t.rate), length), Duration: length, Warmup: t.Values.Duration("warmup"),
		Connections: t.Values.Int("connections"), Timeout: t.Values.Duration("timeout"), Whole: true,
	}
}

// Shares of all requests of a way in a trial.
const (
	// queuedLimit is how many may have found every connection busy.
	queuedLimit = 0.01
	// shortLimit is how many may not have been answered in time.
	shortLimit = 0.01
)

// judge gives every measurement its verdict. Where hardly any request had to wait
// for a connection, times count from when requests were sent: that one was sent
// late then moves nothing. Elsewhere they count from when requests were due, so
// that the wait is in them.
func (t *trial) judge() {
	t.fromDue = t.share(ways, func(c *load.Counts) int64 { return c.Queued }) > queuedLimit
	short := func(of ...way) bool {
		return t.share(of, func(c *load.Counts) int64 { return c.Requests() - c.InTime }) > shortLimit
	}
	directShort, gatewayShort := short(direct, directAgain), short(gateway)
	for _, one := range t.seen {
		one.JudgeAlone(t.CPUs * t.BackendNodes)
		if one.Verdict == attack.NotCarried || one.Verdict == attack.AttackerLimited && one.Result.OnlyLate() && !t.fromDue {
			one.Verdict, one.Reasons = attack.Fine, nil
			one.JudgeAround(t.CPUs * t.BackendNodes)
		}
		if one.Verdict == attack.Fine && (one.way == gateway && gatewayShort || one.way != gateway && directShort) {
			// A measurement is too short to tell by itself.
			one.Verdict, one.Reasons = attack.NotCarried, []string{fmt.Sprintf("over %.0f %% of the requests of all such measurements were not answered in time", 100*shortLimit)}
		}
	}
}

// share is what part of all requests on some ways is counted so.
func (t *trial) share(of []way, count func(*load.Counts) int64) float64 {
	var all []*seen
	for _, one := range t.seen {
		if slices.Contains(of, one.way) {
			all = append(all, one)
		}
	}
	sum := together(all)
	return float64(count(&sum)) / float64(max(sum.Requests(), 1))
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
		all[i].conclude(t.fromDue)
	}
	return all
}

func (b *judged) conclude(fromDue bool) {
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
	b.gateway, b.direct = b.seen[gateway].sample(fromDue), [2]sample{b.seen[direct].sample(fromDue), b.seen[directAgain].sample(fromDue)}
	for _, one := range b.seen {
		if one.Result.Latency == nil && b.verdict.Valid() {
			b.verdict = nothingAnswered
		}
	}
}

// nothingAnswered is of a measurement in which no request ended well: it has no
// latency, and the errors are a finding.
const nothingAnswered attack.Verdict = "nothing was answered"

// sample has the times of requests that ended well.
func (one *seen) sample(fromDue bool) (s sample) {
	times := one.Result.ServiceTime
	if fromDue {
		times = one.Result.Latency
	}
	for i := range s {
		s[i] = math.NaN()
		if times != nil {
			s[i] = quantiles[i].of(times)
		}
	}
	return s
}

// times are those of all requests that ended well; nil where none did.
func (t *trial) times(c *load.Counts) *load.Histogram {
	well := c.Classes[load.OK]
	switch {
	case well == nil || well.Count == 0:
		return nil
	case t.fromDue:
		return well.Latency
	}
	return well.Service
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
