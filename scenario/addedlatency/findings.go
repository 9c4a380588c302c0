package addedlatency

import (
	"fmt"
	"strings"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// A bound is what a gateway may add to a quantile, in seconds, before it is
// worth a finding.
type bound struct{ notable, costly float64 }

// bounds are of what somebody who waits for an answer, or for a chain of ten of
// them, begins to notice.
var bounds = map[string]bound{"p50": {0.002, 0.010}, "p99": {0.010, 0.050}}

func (t *trial) findings(c *comparison) {
	t.findErrors()
	for i, q := range quantiles {
		if b, ok := bounds[q.name]; ok {
			t.findAdded(q.name, b, c.added[i], c)
		}
	}
}

func (t *trial) findAdded(name string, b bound, a added, c *comparison) {
	severity := result.Notable
	switch {
	case a.exceeds(b.costly):
		severity = result.Costly
	case !a.exceeds(b.notable):
		return
	}
	var lines []string
	for i, q := range quantiles {
		lines = append(lines, fmt.Sprintf("%s: %s direct, %s through the gateway: %s (%s; noise floor %s)", q.name,
			seconds(c.added[i].direct), seconds(c.added[i].gateway), c.added[i], interval(c.added[i]), seconds(c.added[i].floor())))
	}
	t.Find("added-"+name, severity,
		fmt.Sprintf("at %d requests/s the gateway adds %s to the %s: %s through it, %s without it (%s with 95 %% confidence, from %d blocks; two measurements of the direct path differ by at most %s)",
			t.rate, seconds(a.difference.Mean.Center), words[name], seconds(a.gateway), seconds(a.direct), interval(a), a.difference.N, seconds(a.floor())),
		result.Evidence{Name: "by quantile", Text: strings.Join(lines, "\n")})
}

// words are what a user calls quantiles.
var words = map[string]string{"p50": "typical answer (p50)", "p99": "slowest hundredth of the answers (p99)"}

// findErrors: nothing changes in this trial, so that no error has an excuse but
// the backend's own.
func (t *trial) findErrors() {
	errors, requests := t.failed(gateway)
	beside, besideOf := t.failed(direct, directAgain)
	n, straight := scenario.Total(errors), scenario.Total(beside)
	// Twice as many were sent straight.
	if n == 0 || straight >= 2*n {
		return
	}
	t.Find("errors", result.Broken,
		fmt.Sprintf("under steady load, while nothing changed, %d of %d requests through the gateway failed (%s); of those straight to the backend %d of %d did",
			n, requests, strings.Join(scenario.Tally(errors, "%d× %s"), ", "), straight, besideOf),
		result.Evidence{Name: "by class", Text: scenario.Excerpt(scenario.Tally(errors, "%d× %s"))})
}
