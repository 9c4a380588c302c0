package addedlatency

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// doubtLimit is the share of blocks that may be no evidence.
const doubtLimit = 0.5

// A comparison is what all blocks that are evidence come to.
type comparison struct {
	all  []judged // every block
	good []judged
	// added is by quantile.
	added [len(quantiles)]added
	// gateway and direct are all requests of the blocks that are evidence.
	gateway, direct load.Counts
}

func (t *trial) compare() *comparison {
	c := &comparison{all: t.judged()}
	var blocks []block
	var through, straight []*seen
	for _, b := range c.all {
		if !b.verdict.Valid() {
			continue
		}
		c.good, blocks = append(c.good, b), append(blocks, b.block)
		through, straight = append(through, b.seen[gateway]), append(straight, b.seen[direct], b.seen[directAgain])
	}
	c.added = compare(blocks, t.seed())
	c.gateway, c.direct = together(through), together(straight)
	return c
}

// report turns what was seen into metrics, tables, series, figures, findings
// and gates.
func (t *trial) report() {
	t.judge()
	c := t.compare()
	t.metrics(c)
	t.tables(c)
	t.series()
	t.figures(c)
	t.findings(c)
	t.upstreamReport(c)
	t.notes(c)
	t.Gate("doubtful-measurements", "share of the blocks that were limited by the attacker, the machine, the backend or the direct path", "ratio",
		1-float64(len(c.good))/float64(max(len(c.all), 1)), doubtLimit)
}

func (t *trial) metrics(c *comparison) {
	for i, q := range quantiles {
		a := c.added[i]
		m := result.Value("What the gateway adds to the "+q.name, "s", a.difference.Mean.Center)
		m.N = a.difference.N
		if mean := a.difference.Mean; mean.Bounded() {
			m.Lo, m.Hi, m.Confidence = &mean.Lo, &mean.Hi, mean.Confidence
		}
		if floor := a.floor(); !math.IsNaN(floor) {
			m.Resolution = floor
			noise := result.Value("Noise floor of the "+q.name+": what two measurements of the direct path may differ by", "s", floor)
			noise.N = a.control.N
			t.Metric("noise-"+q.name, noise)
		}
		m.Warnings = warnings(a)
		if a.difference.N > 0 {
			t.Metric("added-"+q.name, m.Lower())
		}
	}
	t.distribution("latency-gateway", "Latency through the gateway", &c.gateway)
	t.distribution("latency-direct", "Latency on the direct path", &c.direct)
	sent := 0
	for _, one := range t.seen {
		if one.way == gateway {
			sent += int(one.Sent)
		}
	}
	errors, requests := t.failed(gateway)
	m := result.Count("Requests through the gateway that failed", scenario.Total(errors))
	m.N = requests
	t.Metric("errors", m.Lower())
	t.Metric("requests-sent", result.Count("Requests sent to the gateway in all, warm-ups and first checks too: what its own counter must say", sent+t.Checks))
}

// warnings say what is to be thought of a difference.
func warnings(a added) (all []string) {
	for _, w := range a.difference.Warnings {
		all = append(all, w.String())
	}
	if a.difference.Mean.Bounded() && !a.shown() {
		all = append(all, a.String())
	}
	return all
}

// distribution is that of a histogram, which has every request: there is no
// interval to give.
func (t *trial) distribution(name, title string, c *load.Counts) {
	s := t.times(c).Summary()
	if s == nil {
		return
	}
	t.Metric(name, result.Metric{
		Title: title, Unit: "s", N: int(s.Count),
		Min: &s.Min, Mean: &s.Mean, P50: &s.P50, P90: &s.P90, P95: &s.P95, P99: &s.P99, P999: &s.P999, Max: &s.Max,
	}.Lower())
}

// failed counts the requests of all measurements of those ways that failed and
// not by the attacker's fault, by class, and all requests.
func (t *trial) failed(of ...way) (errors map[string]int, requests int) {
	var all []*seen
	for _, one := range t.seen {
		for _, w := range of {
			if one.way == w {
				all = append(all, one)
			}
		}
	}
	counts := together(all)
	errors = map[string]int{}
	for class, n := range counts.Errors() {
		if !class.Ours() {
			errors[class.String()] += int(n)
		}
	}
	return errors, int(counts.Requests())
}

func (t *trial) tables(c *comparison) {
	table := result.Table{Name: "added", Title: "What the gateway adds", Columns: []string{"Quantile", "Direct", "Through the gateway", "Difference", "95 % interval", "Noise floor", "Verdict"}}
	for i, q := range quantiles {
		a := c.added[i]
		mean := a.difference.Mean
		table.Rows = append(table.Rows, []string{q.name, seconds(a.direct), seconds(a.gateway), seconds(mean.Center), interval(a), seconds(a.floor()), a.String()})
	}
	t.Result.Tables = append(t.Result.Tables, table, t.latencyTable(c))
	if doubts := doubts(c.all); len(doubts.Rows) > 0 {
		t.Result.Tables = append(t.Result.Tables, doubts)
	}
}

func seconds(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return scenario.Seconds(v)
}

func interval(a added) string {
	mean := a.difference.Mean
	if !mean.Bounded() {
		return "-"
	}
	return seconds(mean.Lo) + " to " + seconds(mean.Hi)
}

// latencyTable has all requests of the blocks that are evidence, in the columns
// of a published benchmark.
func (t *trial) latencyTable(c *comparison) result.Table {
	table := result.Table{Name: "latency", Title: "Latency of all requests", Columns: []string{"Way", "Client QPS", "min", "mean", "P50", "P90", "P95", "P99", "max", "Requests", "Errors"}}
	for _, row := range []struct {
		name   string
		counts *load.Counts
	}{{"direct", &c.direct}, {t.Target.Treatment, &c.gateway}} {
		cells := []string{row.name, strconv.Itoa(t.rate)}
		s := t.times(row.counts).Summary()
		if s == nil {
			s = &load.Summary{Min: math.NaN(), Mean: math.NaN(), P50: math.NaN(), P90: math.NaN(), P95: math.NaN(), P99: math.NaN(), Max: math.NaN()}
		}
		for _, v := range []float64{s.Min, s.Mean, s.P50, s.P90, s.P95, s.P99, s.Max} {
			cells = append(cells, seconds(v))
		}
		failed := int64(0)
		for _, n := range row.counts.Errors() {
			failed += n
		}
		table.Rows = append(table.Rows, append(cells, fmt.Sprint(row.counts.Requests()), fmt.Sprint(failed)))
	}
	return table
}

// doubts say why blocks are no evidence, or are of a queue.
func doubts(all []judged) result.Table {
	table := result.Table{Name: "verdicts", Title: "Measurements that are not plainly the gateway's", Columns: []string{"Block", "Way", "Verdict", "Why"}}
	for _, b := range all {
		for _, w := range ways {
			if one := b.seen[w]; one.Verdict != attack.Fine {
				table.Rows = append(table.Rows, []string{strconv.Itoa(b.number + 1), string(w), string(one.Verdict), strings.Join(one.Reasons, "; ")})
			}
		}
	}
	return table
}

func (t *trial) notes(c *comparison) {
	t.Note("Requests went to %s, the direct ones to %s. The node that measures has %d CPUs.", t.Gateway, t.upstream, t.CPUs)
	if t.Scale() != 1 {
		t.Note("The rate is for a machine with %d CPUs and was multiplied by %d/%d: %d requests/s.", t.Values.Int(attack.RatesForParameter.Name), t.CPUs, t.Values.Int(attack.RatesForParameter.Name), t.rate)
	}
	if bad := len(c.all) - len(c.good); bad > 0 {
		t.Note("%d of %d blocks are no evidence and were left out, all three measurements of each.", bad, len(c.all))
	}
	if t.fromDue {
		t.Note("Over %.0f %% of the requests found every connection busy: times count from when requests were due.", 100*queuedLimit)
	}
	t.Note("A TCP connection to the gateway took %s, one to the direct path's end %s (medians): so long a packet takes there and back.", t.roundTrip(gateway), t.roundTrip(direct, directAgain))
}
