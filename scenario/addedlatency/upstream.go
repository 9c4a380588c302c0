package addedlatency

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
)

// The share of requests beyond those that clients sent from which on a gateway
// that asks the upstream by itself is a finding.
const (
	moreNotable = 0.1
	moreCostly  = 0.5
)

// A reception is what came to the API servers of what was sent on some ways, in
// all measurements.
type reception struct {
	account account
	sent    int64
}

// received is nothing where the upstream does not count.
func (t *trial) received(of ...way) (r reception, known bool) {
	for _, one := range t.seen {
		for _, w := range of {
			if one.way == w && one.account != nil {
				r.account, r.sent, known = r.account.plus(one.account), r.sent+one.Sent, true
			}
		}
	}
	return r, known
}

// each is how many of some requests came for each that was sent.
func (r reception) each(n float64) float64 {
	if r.sent == 0 {
		return math.NaN()
	}
	return n / float64(r.sent)
}

// busy is how long the API servers were busy with one request for a ConfigMap,
// on average; NaN where there was none.
func (r reception) busy() float64 {
	c := r.account[configMaps]
	if c.requests == 0 {
		return math.NaN()
	}
	return c.seconds / c.requests
}

// upstreamReport says what came to the API servers.
func (t *trial) upstreamReport(c *comparison) {
	through, ok := t.received(gateway)
	straight, ok2 := t.received(direct, directAgain)
	if !ok || !ok2 || through.sent == 0 {
		return
	}
	t.Metric("upstream-per-request", result.Value("Requests that came to the API server for each that was sent to the gateway", "ratio", through.each(through.account.requests())).Lower())
	table := result.Table{Name: "upstream", Title: "Requests that came to the API server", Columns: []string{"Of", "Direct", "For each sent", "Through the gateway", "For each sent"}}
	count := func(r reception, n float64) []string {
		return []string{strconv.FormatFloat(n, 'f', 0, 64), strconv.FormatFloat(r.each(n), 'f', 3, 64)}
	}
	for _, name := range counted {
		row := append([]string{name}, count(straight, straight.account[name].requests)...)
		table.Rows = append(table.Rows, append(row, count(through, through.account[name].requests)...))
	}
	t.Result.Tables = append(t.Result.Tables, table)
	t.noteSplit(through, straight, c)
	t.findMore(through, straight, table)
}

// noteSplit tells the API server's own time from that of the way. It is of means:
// the API server's metrics know no exact quantiles.
func (t *trial) noteSplit(through, straight reception, c *comparison) {
	rest := func(r reception, counts *load.Counts) string {
		all := t.times(counts).Summary()
		if all == nil || math.IsNaN(r.busy()) {
			return "an unknown time"
		}
		return seconds(all.Mean - r.busy())
	}
	t.Note("By its own metrics the API server was busy with a request for %s on the direct path and for %s behind the gateway (means). What clients waited beyond that was %s on the direct path and %s through the gateway: the network and, there, the gateway.",
		seconds(straight.busy()), seconds(through.busy()), rest(straight, &c.direct), rest(through, &c.gateway))
}

// findMore: a gateway that asks the API server who is asking makes requests that
// nobody sent.
func (t *trial) findMore(through, straight reception, table result.Table) {
	more := through.each(through.account.requests()) - straight.each(straight.account.requests())
	if more < moreNotable {
		return
	}
	severity := result.Notable
	if more >= moreCostly {
		severity = result.Costly
	}
	asks := through.account[tokenReviews].requests + through.account[accessReview].requests
	t.Find("more-upstream", severity,
		fmt.Sprintf("for each request through the gateway %.2f come to the API server, where %.2f do without it: it carries that much more; %.2f of them ask who is asking (TokenReviews), or what they may do (SubjectAccessReviews)",
			through.each(through.account.requests()), straight.each(straight.account.requests()), through.each(asks)),
		result.Evidence{Name: "by what was asked for", Text: rowsText(table)})
}

func rowsText(table result.Table) string {
	text := ""
	for _, row := range table.Rows {
		text += fmt.Sprintf("%s: %s direct (%s for each sent), %s through the gateway (%s for each sent)\n", row[0], row[1], row[2], row[3], row[4])
	}
	return text
}
