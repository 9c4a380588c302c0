package elasticlatency

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
	"github.com/gatemark/gatemark/stat"
)

// report turns what was seen into metrics, a table, series, pictures, findings,
// gates and a file of all requests.
func (e *elastic) report() error {
	e.metrics()
	e.Result.Tables = append(e.Result.Tables, e.table())
	for _, p := range e.passes {
		e.picture(p)
		file, err := stream.Parquet(p.began, p.lanes, p.hits, func(int) string { return name })
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
		e.Attachments[fmt.Sprintf("requests-%d.parquet", p.rate)] = file
	}
	e.series()
	e.findings()
	e.gates()
	for _, one := range timeline(e.Values) {
		if why, skip := e.skipped[one.kind]; skip {
			e.Note("The kind of event %s is not supported, and its place in the timeline was left empty: %s.", one.kind, why)
		}
	}
	return nil
}

func (e *elastic) metrics() {
	events, spiked, highest, longest := 0, 0, 0.0, 0.0
	all := window{errors: [2]map[string]int{{}, {}}}
	for _, k := range e.kinds() {
		saw := k.sum()
		all.add(&saw)
		events, spiked = events+len(k.all), spiked+k.spiked()
		for i, h := range k.all {
			if k.of[i].spiked(h) {
				highest, longest = math.Max(highest, h.after.spike.height.Seconds()), math.Max(longest, h.after.spike.length.Seconds())
			}
		}
		e.kindMetrics(k, &saw)
	}
	e.Metric("events-with-spikes", among(result.Count("Events that made requests wait", spiked), events))
	e.Metric("highest-spike", result.Value("Highest spike of latency after an event", "s", highest).Lower())
	e.Metric("longest-spike", result.Value("Longest spike of latency after an event", "s", longest).Lower())
	e.Metric("errors", among(result.Count("Errors after events", all.failed()), all.all()))
	base := e.base()
	e.Metric("errors-at-rest", among(result.Count("Errors while nothing happened", base.failed()), base.all()))
	for _, p := range e.passes {
		e.Samples(fmt.Sprintf("latency-at-rest-r%d", p.rate), fmt.Sprintf("Latency while nothing happened, at %d requests/s", p.rate), p.rest.took, stat.Options{})
	}
}

// kindMetrics are those of a kind at all rates; their names end with its.
func (e *elastic) kindMetrics(k *kindSeen, saw *window) {
	say := func(what string) string { return what + ", " + k.kind }
	e.Metric("errors-"+k.kind, among(result.Count(say("Errors"), saw.failed()), saw.all()))
	e.Metric("events-with-spikes-"+k.kind, among(result.Count(say("Events that made requests wait"), k.spiked()), len(k.all)))
	samples := func(name, title string, of func(*happening) time.Duration) {
		e.Samples(name+"-"+k.kind, say(title), k.seconds(of), stat.Options{Limit: (k.step / 2).Seconds()})
	}
	samples("spike-height", "Slowest answer of the spike", func(h *happening) time.Duration { return h.after.spike.height })
	samples("spike-length", "Length of the spike", func(h *happening) time.Duration { return h.after.spike.length })
	samples("worst-100ms", "Mean of the worst 100 ms", func(h *happening) time.Duration { return h.after.worst })
	samples("slowest-kept", "Slowest answer on kept connections", func(h *happening) time.Duration { return h.after.slowest[0] })
	samples("slowest-new", "Slowest answer on new connections", func(h *happening) time.Duration { return h.after.slowest[1] })
	samples("back", "Until requests waited no longer", backAfter)
	if k.shows() {
		samples("in-force", "First answer that shows it", func(h *happening) time.Duration { return h.first })
	}
}

// among says of how many a count is. That none was seen bounds the rate.
func among(m result.Metric, n int) result.Metric {
	m.N = n
	if *m.Value == 0 && n > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("none in %d: the true share is below %.2g %%, at 95 %% confidence", n, 100*stat.RuleOfThree(n)))
	}
	return m.Lower()
}

// table answers what users notice, by kind of event and rate.
func (e *elastic) table() result.Table {
	t := result.Table{Name: "events", Title: "What users notice", Columns: []string{
		"Event", "Requests/s", "Times", "Errors", "Kinds of errors", "On kept connections", "On new ones", "Slowest, kept", "Slowest, new",
		"Worst 100 ms, mean", "With a spike", "Spike's height, median", "Spike's length, median", "Back to normal after, median", "First seen after, median",
	}}
	for _, k := range e.kinds() {
		for _, p := range e.passes {
			if part := k.at(p); len(part.all) > 0 {
				t.Rows = append(t.Rows, part.row(p))
			}
		}
	}
	return t
}

func (k *kindSeen) row(p *pass) []string {
	saw := k.sum()
	of := func(of func(*happening) time.Duration) string { return scenario.Seconds(stat.Median(k.seconds(of))) }
	count := fmt.Sprintf("%d of %d", saw.failed(), saw.all())
	if saw.failed() == 0 && saw.all() > 0 {
		count += fmt.Sprintf(" (below %.2g %%)", 100*stat.RuleOfThree(saw.all()))
	}
	first := "-"
	if k.shows() {
		first = of(func(h *happening) time.Duration { return h.first })
	}
	return []string{
		k.kind, fmt.Sprint(p.rate), fmt.Sprint(len(k.all)), count, words(saw.both()),
		fmt.Sprintf("%d of %d", scenario.Total(saw.errors[0]), saw.requests[0]), fmt.Sprintf("%d of %d", scenario.Total(saw.errors[1]), saw.requests[1]),
		scenario.Seconds(saw.slowest[0].Seconds()), scenario.Seconds(saw.slowest[1].Seconds()),
		of(func(h *happening) time.Duration { return h.after.worst }), fmt.Sprintf("%d of %d", k.spiked(), len(k.all)),
		of(func(h *happening) time.Duration { return h.after.spike.height }), of(func(h *happening) time.Duration { return h.after.spike.length }),
		of(backAfter), first,
	}
}

// A dot is a place of the picture that a request falls on. Two that fall on the
// same one are drawn once: no picture is so fine that it would show both.
type dot struct {
	cloud      int
	time, took int
}

// Dots are so long, and so much higher than the one below: no reader's screen
// has more.
const dotTime, dotHeight = 50 * time.Millisecond, 0.03

// clouds are those of the picture.
var clouds = []struct{ name, title string }{{"kept", "on kept connections"}, {"new", "on new connections"}, {"failed", "failed, until then"}}

// picture draws every request at one rate over time, with the events.
func (e *elastic) picture(p *pass) {
	offset := e.At(p.began)
	var at, latency [3]result.Numbers
	drawn := map[dot]bool{}
	for i := range p.hits {
		h := &p.hits[i]
		cloud, t := fresh(p.lanes[h.Lane]), took(h)
		if !right(h) {
			cloud, t = 2, h.Ended-h.Due
		}
		if h.Class.Ours() || t <= 0 {
			continue
		}
		d := dot{cloud, int(h.Due / dotTime), int(math.Log(t.Seconds()) / dotHeight)}
		if drawn[d] {
			continue
		}
		drawn[d] = true
		at[cloud] = append(at[cloud], rounded(offset+h.Due.Seconds(), 1e3))
		latency[cloud] = append(latency[cloud], rounded(t.Seconds(), 1e5))
	}
	figure := result.Figure{
		Name: fmt.Sprintf("requests-%d", p.rate), Title: fmt.Sprintf("Every request at %d requests/s", p.rate), Kind: "scatter", LogY: true,
		Caption: "Each request stands where it was due, at what it took from then on. Requests that would fall on the same dot are drawn once.",
		XTitle:  "since the measurement began", XUnit: "s", YTitle: "latency", YUnit: "s",
	}
	for i, c := range clouds {
		if len(at[i]) == 0 {
			continue
		}
		s := result.Series{Name: fmt.Sprintf("requests-%s-%d", c.name, p.rate), Title: fmt.Sprintf("Requests %s, at %d requests/s", c.title, p.rate), Columns: []result.Column{
			{Name: "due", Title: "since the measurement began", Unit: "s", Values: at[i]}, {Name: "latency", Title: "from when it was due", Unit: "s", Values: latency[i]},
		}}
		e.Result.Series = append(e.Result.Series, s)
		figure.Lines = append(figure.Lines, result.Line{Title: c.title, Series: s.Name, X: "due", Y: "latency"})
	}
	for _, h := range p.happenings {
		if event := eventName(h.kind, p.rate); !slices.Contains(figure.Events, event) {
			figure.Events = append(figure.Events, event)
		}
	}
	if len(figure.Lines) > 0 {
		e.Result.Figures = append(e.Result.Figures, figure)
	}
}

// rounded keeps a series short: what is cut is far below what can be told.
func rounded(v, digits float64) float64 { return math.Round(v*digits) / digits }

// series has a row for each event.
func (e *elastic) series() {
	var kinds []string
	columns := []result.Column{
		{Name: "event"}, {Name: "rate", Unit: "1/s"}, {Name: "at", Title: "since the timeline began", Unit: "s"},
		{Name: "errors-kept", Title: "errors on kept connections", Unit: "1"}, {Name: "errors-new", Title: "errors on new connections", Unit: "1"},
		{Name: "slowest-kept", Title: "slowest answer on kept connections", Unit: "s"}, {Name: "slowest-new", Title: "slowest answer on new connections", Unit: "s"},
		{Name: "worst", Title: "mean of the worst 100 ms", Unit: "s"}, {Name: "spike-from", Title: "the spike's begin after the event", Unit: "s"},
		{Name: "spike-height", Unit: "s"}, {Name: "spike-length", Unit: "s"}, {Name: "spike-requests", Unit: "1"},
		{Name: "back", Title: "until requests waited no longer", Unit: "s"}, {Name: "first", Title: "first answer that shows it", Unit: "s"},
		{Name: "own", Title: "longest that we sent a request too late", Unit: "s"},
	}
	for _, p := range e.passes {
		for _, h := range p.happenings {
			kinds = append(kinds, h.kind)
			s, from := h.after.spike, math.NaN()
			if s.requests > 0 {
				from = (s.at - p.zero - h.at).Seconds()
			}
			for i, v := range []float64{
				float64(p.rate), h.at.Seconds(), float64(scenario.Total(h.after.errors[0])), float64(scenario.Total(h.after.errors[1])),
				h.after.slowest[0].Seconds(), h.after.slowest[1].Seconds(), h.after.worst.Seconds(), from,
				s.height.Seconds(), s.length.Seconds(), float64(s.requests), scenario.SecondsSeen(backAfter(h)), scenario.SecondsSeen(h.first), h.after.own.Seconds(),
			} {
				columns[i+1].Values = append(columns[i+1].Values, v)
			}
		}
	}
	columns[0].Labels = kinds
	e.Result.Series = append(e.Result.Series, result.Series{Name: "events", Title: "One row for each event", Columns: columns})
}

// The limits of our own part.
const (
	// ownLimit is how late we may be after half of the events.
	ownLimit = 50 * time.Millisecond
	// eventLimit is how much after its instant an event may begin.
	eventLimit = 250 * time.Millisecond
)

// gates say whether what was seen is the gateway's.
func (e *elastic) gates() {
	var all stream.Totals
	events, unsettled := 0, 0
	var own []float64
	latest := 0.0
	for _, p := range e.passes {
		all.Merge(p.load)
		for _, h := range p.happenings {
			events++
			if h.unsettled != "" {
				unsettled++
			}
			own = append(own, h.after.own.Seconds())
			latest = math.Max(latest, h.late.Seconds())
		}
	}
	all.Gates(e.Gate)
	if events > 0 {
		e.Gate("own-stalls", "how late we ourselves sent a request after an event, in the median of the events", "s", stat.Median(own), ownLimit.Seconds())
		e.Gate("late-events", "how much after its instant an event was begun", "s", latest, eventLimit.Seconds())
		e.Gate("unsettled-events", "events of pods that the cluster had not carried out when their step ended", "1", float64(unsettled), 0)
	}
}
