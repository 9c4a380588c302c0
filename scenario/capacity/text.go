package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
)

// text is the answer with its evidence, to be read without a report.
func (c *capacity) text(a answer, lasted *try) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Conditions\n")
	line("* %s, %d %s", c.Target.Treatment, max(len(c.first), 1), scenario.Plural(max(len(c.first), 1), "replica"))
	if limits := c.first.limits(); limits != "" {
		line("* %s", limits)
	}
	line("* %d %s with %d connections, started at one instant", c.Values.Int("attackers"), scenario.Plural(c.Values.Int("attackers"), "attacker"), c.Values.Int("connections"))
	line("* %s", c.what())
	line("\nResults\n")
	line("A rate is carried if its p99 is below %s and its success rate is %g %%. %s.\n", c.Values.Duration("p99"), c.Values.Float("success"), capital(a.words()))
	if lasted != nil {
		line("At %d req/s, for %s:\n", lasted.rate, lasted.length)
		for _, one := range lasted.Each {
			line("%s\n", block(one.Result))
		}
		if failed := scenario.Total(failures(lasted.Seen)); failed > 0 {
			line("Failed: %d of %d.", failed, lasted.Counts.Requests())
		} else {
			line("Failed: %s.", noneIn(int(lasted.Counts.Requests())))
		}
	}
	if failed := c.failedAt(a.above); failed != nil {
		line("\nAt %d req/s: %s.", failed.rate, strings.Join(failed.Reasons, "; "))
	}
	return b.String()
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// failedAt is the last try at a rate that did not carry it, or nil.
func (c *capacity) failedAt(rate int) *try {
	for _, one := range slices.Backward(c.tries) {
		if one.rate == rate && one.stage != direct && len(one.Reasons) > 0 {
			return one
		}
	}
	return nil
}

// block is what one attacker found, as attackers' own reports print it.
func block(r *load.Result) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-45s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("Requests      [total, rate, throughput]", "%d, %.2f, %.2f", r.Requests, r.RequestedRate, r.AchievedRate)
	line("Duration      [total]", "%s", scenario.Seconds(r.Seconds))
	if r.Latency != nil {
		var all []string
		for _, of := range quantiles {
			all = append(all, scenario.Seconds(of(r.Latency)))
		}
		line("Latencies     [min, mean, 50, 90, 95, 99, max]", "%s", strings.Join(all, ", "))
	}
	line("Bytes         [in, out]", "%d, %d", r.BytesIn, r.BytesOut)
	line("Success       [requests]", "%d of %d", r.Requests-total(r.Errors), r.Requests)
	line("Status codes  [code:count]", "%s", codes(r))
	errors := map[string]int{}
	for class, n := range r.Errors {
		errors[class.String()] = int(n)
	}
	line("Failures", "%s", strings.Join(scenario.Tally(errors, "%d× %s"), ", "))
	return strings.TrimRight(b.String(), "\n ")
}

func codes(r *load.Result) string {
	var all []string
	for _, code := range slices.Sorted(maps.Keys(r.StatusCodes)) {
		all = append(all, fmt.Sprintf("%d:%d", code, r.StatusCodes[code]))
	}
	return strings.Join(all, " ")
}
