package elasticlatency

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
	"github.com/gatemark/gatemark/stat"
)

// spikeEvents is of how many events a kind must have for its spikes to be a
// finding: one may be chance.
const spikeEvents = 2

func (e *elastic) findings() {
	for _, p := range e.passes {
		if p.notServed != "" {
			e.Find("not-served", result.Broken, fmt.Sprintf("at %d requests/s users were not served before anything happened: %s", p.rate, p.notServed),
				result.Evidence{Name: "answers", Text: p.notServed})
		}
	}
	base := e.base()
	if base.failed() > 0 {
		e.Find("errors-without-event", result.Broken,
			fmt.Sprintf("while nothing happened, users got %d %s (%s) in %d requests; errors at events are put down to them only where there are clearly more",
				base.failed(), scenario.Plural(base.failed(), "error"), words(base.both()), base.all()),
			result.Evidence{Name: "counts", Text: scenario.Excerpt(append(scenario.Tally(base.both(), "%d times %s"), base.examples...))})
	}
	for _, k := range e.kinds() {
		e.findErrors(k, &base)
		e.findSpike(k)
		e.findNever(k)
	}
}

func words(counts map[string]int) string {
	return strings.Join(scenario.Tally(counts, "%d× %s"), ", ")
}

// often says how many events there were: "2 times".
func (k *kindSeen) often() string {
	if len(k.all) == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", len(k.all))
}

func (e *elastic) findErrors(k *kindSeen, base *window) {
	saw := k.sum()
	if !stream.Beyond(saw.failed(), saw.all(), base.failed(), base.all()) {
		return
	}
	with := 0
	for _, h := range k.all {
		if h.after.failed() > 0 {
			with++
		}
	}
	e.Find("errors-"+k.kind, result.Broken,
		fmt.Sprintf("when %s (%s), users got %d %s (%s) in %d requests, at %d of %d events: %d on kept connections, %d on new ones",
			k.title, k.often(), saw.failed(), scenario.Plural(saw.failed(), "error"), words(saw.both()), saw.all(), with, len(k.all),
			scenario.Total(saw.errors[0]), scenario.Total(saw.errors[1])),
		result.Evidence{Name: "first errors of each event", Text: scenario.Excerpt(saw.examples)})
}

// findSpike: requests had to wait at more than half of the events.
func (e *elastic) findSpike(k *kindSeen) {
	n := k.spiked()
	if len(k.all) < spikeEvents || 2*n <= len(k.all) {
		return
	}
	heights := k.seconds(func(h *happening) time.Duration { return h.after.spike.height })
	lengths := k.seconds(func(h *happening) time.Duration { return h.after.spike.length })
	rest := e.restP99()
	e.Find("spike-"+k.kind, result.Costly,
		fmt.Sprintf("when %s (%s), requests had to wait, at %d of %d events: the slowest took %s (median; at worst %s), and it lasted %s (median; at worst %s); while nothing happens one in a hundred takes %s",
			k.title, k.often(), n, len(k.all), scenario.Seconds(stat.Median(heights)), scenario.Seconds(slices.Max(heights)),
			scenario.Seconds(stat.Median(lengths)), scenario.Seconds(slices.Max(lengths)), scenario.Seconds(rest)),
		result.Evidence{Name: "spikes", Text: scenario.Excerpt(k.spikeLines())})
}

func (k *kindSeen) spikeLines() []string {
	var lines []string
	for i, h := range k.all {
		s, p := h.after.spike, k.of[i]
		if s.requests == 0 {
			lines = append(lines, fmt.Sprintf("at %d/s, event at %s: none", p.rate, h.at))
			continue
		}
		lines = append(lines, fmt.Sprintf("at %d/s, event at %s: from %s after it, %d requests within %s, the slowest took %s; before it at most %s; we ourselves were late by %s at most",
			p.rate, h.at, (s.at-p.zero-h.at).Round(time.Millisecond), s.requests, s.length.Round(time.Millisecond), s.height.Round(time.Millisecond),
			max(h.before.slowest[0], h.before.slowest[1]).Round(time.Millisecond), h.after.own.Round(100*time.Microsecond)))
	}
	return lines
}

// findNever: no answer showed the event, though the cluster had done its part.
func (e *elastic) findNever(k *kindSeen) {
	var lines []string
	for i, h := range k.all {
		if k.shows() && h.first < 0 && h.unsettled == "" {
			lines = append(lines, fmt.Sprintf("at %d/s, event at %s", k.of[i].rate, h.at))
		}
	}
	if len(lines) == 0 {
		return
	}
	if why, skip := e.skipped[k.kind]; skip {
		e.Note("The kind of event %s is not supported: %s.", k.kind, why)
		return
	}
	what := "no answer came from a new pod"
	if k.route != nil {
		what = "no answer came by the changed route"
	}
	e.Find("never-in-force-"+k.kind, result.Broken,
		fmt.Sprintf("when %s (%s), users saw nothing of it within %s, at %d of %d events: %s", k.title, k.often(), k.step, len(lines), len(k.all), what),
		result.Evidence{Name: "where", Text: scenario.Excerpt(lines)})
}

// restP99 is what one in a hundred takes while nothing happens, at the rate where
// that is longest.
func (e *elastic) restP99() float64 {
	longest := 0.0
	for _, p := range e.passes {
		longest = math.Max(longest, stat.Summarize(p.rest.took, stat.Options{}).P99)
	}
	return longest
}
