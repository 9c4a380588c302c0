package routechange

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
	"github.com/gatemark/gatemark/stat"
)

// report turns what was seen into metrics, tables, series, figures, findings
// and gates.
func (r *routeChanges) report() {
	r.metrics()
	r.Result.Tables = append(r.Result.Tables, r.table())
	r.series()
	r.figures()
	r.findings()
	r.loadGates()
	for _, k := range r.kinds {
		if k.unsupported != "" {
			r.Note("The kind of change %s is not supported: %s.", k.kind.name, k.unsupported)
		}
	}
	if r.Values.String("through") == "address" {
		r.Note("The traffic went to the Gateway's address: its replicas cannot be told apart.")
	}
}

// measured are the kinds that were changed at least once.
func (r *routeChanges) measured() []*kindChanges {
	return slices.DeleteFunc(slices.Clone(r.kinds), func(k *kindChanges) bool { return len(k.seen) == 0 || k.unsupported != "" })
}

// changed are those in which something did change.
func (r *routeChanges) changed() []*kindChanges {
	return slices.DeleteFunc(r.measured(), func(k *kindChanges) bool { return k.kind.name == controlKind })
}

func inSeconds(d time.Duration) float64 {
	if d < 0 {
		return math.Inf(1)
	}
	return d.Seconds()
}

func (r *routeChanges) metrics() {
	changes, affected, requests, errors := 0, 0, 0, 0
	var good []float64
	for _, k := range r.changed() {
		changes += len(k.seen)
		affected += k.withErrors()
		requests += k.requests()
		errors += scenario.Total(k.errors()) + scenario.Total(k.neighbourErrors())
		if k.kind.lasts == 0 {
			good = append(good, k.goodSeconds()...)
		}
		r.kindMetrics(k)
	}
	limit := stat.Options{Limit: r.Values.Duration("limit").Seconds()}
	r.Metric("changes-with-errors", among(result.Count("Changes at which users got errors", affected), changes))
	r.Metric("errors", among(result.Count("Errors during changes, of all kinds", errors), requests))
	r.Samples("effect", "New version in force for good, everywhere, all kinds but those of pods", good, limit)
	rest, restErrors := r.base()
	r.Metric("errors-at-rest", among(result.Count("Errors while nothing was changed", restErrors), rest))
	for _, k := range r.measured() {
		if k.kind.name == controlKind {
			r.kindMetrics(k)
		}
	}
}

// among says of how many a count is. That none was seen bounds the rate.
func among(m result.Metric, n int) result.Metric {
	m.N = n
	if *m.Value == 0 && n > 0 {
		m.Warnings = append(m.Warnings, noneIn(n))
	}
	return m.Lower()
}

// noneIn is the rule of three in words.
func noneIn(n int) string {
	return fmt.Sprintf("none in %d: the true share is below %.2g %%, at 95 %% confidence", n, 100*stat.RuleOfThree(n))
}

// kindMetrics are those of one kind; their names end with the kind's.
func (r *routeChanges) kindMetrics(k *kindChanges) {
	name := k.kind.name
	say := func(what string) string { return what + ", " + name }
	r.Metric("errors-"+name, among(result.Count(say("Errors during changes"), scenario.Total(k.errors())), k.requests()))
	r.Metric("changes-with-errors-"+name, among(result.Count(say("Changes with errors"), k.withErrors()), len(k.seen)))
	r.Metric("neighbour-errors-"+name, among(result.Count(say("Errors of the route that nobody changed"), scenario.Total(k.neighbourErrors())), k.requests()))
	r.Metric("stale-"+name, result.Count(say("Old answers after the new version was there"), k.stale()).Lower())
	longest, worst := time.Duration(0), 0.0
	for i := range k.seen {
		longest, worst = max(longest, k.seen[i].longest), max(worst, k.seen[i].worst)
	}
	r.Metric("longest-errors-"+name, result.Value(say("Longest row of errors"), "s", longest.Seconds()).Lower())
	r.Metric("worst-share-"+name, result.Value(say("Highest share of errors in 100 ms"), "ratio", worst).Lower())
	for metric, latencies := range map[string][]float64{"at-change": k.latenciesAtChange(), "at-rest": k.rest.latencies} {
		m := scenario.Distribution(say("Latency "+strings.ReplaceAll(metric, "-", " ")), "s", stat.Summarize(latencies, stat.Options{Unit: "s"})).Lower()
		if share := k.load.LateShare(); share > stallLate {
			m.Warnings = append(m.Warnings, fmt.Sprintf("%.1f %% of the requests were sent more than 1 ms late: the latencies are also the machine's", 100*share))
		}
		r.Metric("latency-"+metric+"-"+name, m)
	}
	if good := k.goodSeconds(); len(good) > 0 {
		r.Samples("effect-"+name, say("New version in force for good, everywhere"), good, stat.Options{Limit: r.Values.Duration("limit").Seconds()})
	}
}

// stale counts old answers long after new ones. After a change that was never
// in force they are no surprise.
func (k *kindChanges) stale() int {
	n, later := 0, k.rest.stale
	for i := range k.seen {
		n += k.seen[i].stale
		if len(k.seen[i].neverInForce()) > 0 {
			later = 0
		}
	}
	return n + later
}

// base is what users saw while nothing was changed: in the control, and between
// changes.
func (r *routeChanges) base() (requests, errors int) { return r.baseWithout(nil) }

// baseWithout leaves out what came between the changes of one kind, which may be
// their doing.
func (r *routeChanges) baseWithout(kind *kindChanges) (requests, errors int) {
	for _, k := range r.measured() {
		if k == kind {
			continue
		}
		requests += k.rest.requests
		errors += scenario.Total(k.rest.errors)
		if k.kind.name == controlKind {
			requests += k.requests()
			errors += scenario.Total(k.errors())
		}
	}
	return requests, errors
}

// beyond reports whether a kind has so many errors that they are more than what
// happens without its changes.
func (r *routeChanges) beyond(k *kindChanges, errors int) bool {
	n, e := r.baseWithout(k)
	if n == 0 { // it is alone
		n, e = r.base()
	}
	return stream.Beyond(errors, k.requests(), e, n)
}

// table answers which changes cause errors.
func (r *routeChanges) table() result.Table {
	t := result.Table{Name: "changes", Title: "Which changes cause errors", Columns: []string{
		"Change", "Changes with errors", "Errors of requests", "Kinds of errors", "Longest row", "Unchanged route", "In force, median", "Slowest", "Latency p99 at change", "At rest",
	}}
	for _, k := range r.kinds {
		t.Rows = append(t.Rows, r.row(k))
	}
	return t
}

func (r *routeChanges) row(k *kindChanges) []string {
	switch {
	case k.unsupported != "":
		return []string{k.kind.name, "not supported", "", "", "", "", "", "", "", ""}
	case len(k.seen) == 0:
		return []string{k.kind.name, "not served before the first change", "", "", "", "", "", "", "", ""}
	}
	errors, requests := k.errors(), k.requests()
	count := fmt.Sprintf("%d of %d", scenario.Total(errors), requests)
	if scenario.Total(errors) == 0 && requests > 0 {
		count = fmt.Sprintf("0 of %d (below %.2g %%)", requests, 100*stat.RuleOfThree(requests))
	}
	longest := time.Duration(0)
	for i := range k.seen {
		longest = max(longest, k.seen[i].longest)
	}
	row := "-"
	if k.withErrors() > 0 {
		row = scenario.Seconds(longest.Seconds())
	}
	median, slowest := "-", "-"
	if good := k.goodSeconds(); len(good) > 0 {
		slices.Sort(good)
		median, slowest = scenario.Seconds(good[(len(good)-1)/2]), scenario.Seconds(good[len(good)-1])
	}
	return []string{
		k.kind.name, fmt.Sprintf("%d of %d", k.withErrors(), len(k.seen)), count, strings.Join(scenario.Tally(errors, "%d× %s"), ", "),
		row, fmt.Sprintf("%d errors", scenario.Total(k.neighbourErrors())), median, slowest, quantile99(k.latenciesAtChange()), quantile99(k.rest.latencies),
	}
}

func quantile99(values []float64) string {
	if p := stat.Summarize(values, stat.Options{}).P99; !math.IsNaN(p) {
		return scenario.Seconds(p)
	}
	return "-"
}

func (r *routeChanges) loadGates() {
	var all stream.Totals
	for _, k := range r.kinds {
		all.Merge(k.load.Totals)
	}
	all.Gates(r.Gate)
}

// The pictures show so long after the write, in such steps.
const pictureAfter, pictureBin = 2 * time.Second, 20 * time.Millisecond

// A pictureStep is the requests of all changes that were due in one step.
type pictureStep struct {
	requests, errors int
	slowest          float64 // in seconds
}

func (r *routeChanges) series() {
	var kind, direction []string
	var at, api, first, good, requests, errors, neighbour, longest, worst, stale result.Numbers
	for _, k := range r.measured() {
		for i := range k.seen {
			s := &k.seen[i]
			kind = append(kind, k.kind.name)
			direction = append(direction, map[bool]string{true: "forth", false: "back"}[s.Forward])
			at = append(at, r.At(k.began.Add(s.T0)))
			api = append(api, s.Answered.Seconds())
			first = append(first, inSeconds(stream.Anywhere(s.effects)))
			good = append(good, inSeconds(stream.Everywhere(s.effects, func(e *stream.Effect) time.Duration { return e.Good })))
			requests, errors = append(requests, float64(s.requests)), append(errors, float64(scenario.Total(s.errors)))
			neighbour, stale = append(neighbour, float64(scenario.Total(s.neighbour))), append(stale, float64(s.stale))
			longest, worst = append(longest, s.longest.Seconds()), append(worst, s.worst)
		}
	}
	r.Result.Series = append(r.Result.Series, result.Series{Name: "changes", Title: "One row for each change", Columns: []result.Column{
		{Name: "kind", Labels: kind}, {Name: "direction", Labels: direction},
		{Name: "written", Title: "write sent, since the measurement began", Unit: "s", Values: at},
		{Name: "api", Title: "API answered", Unit: "s", Values: api},
		{Name: "first", Title: "new version first seen", Unit: "s", Values: first},
		{Name: "good", Title: "in force for good, everywhere", Unit: "s", Values: good},
		{Name: "requests", Unit: "1", Values: requests}, {Name: "errors", Unit: "1", Values: errors},
		{Name: "neighbour-errors", Title: "errors of the route that nobody changed", Unit: "1", Values: neighbour},
		{Name: "longest", Title: "longest row of errors", Unit: "s", Values: longest},
		{Name: "worst", Title: "highest share of errors in 100 ms", Unit: "ratio", Values: worst},
		{Name: "stale", Title: "old answers long after new ones", Unit: "1", Values: stale},
	}}, r.effectSeries())
	for _, k := range r.measured() {
		r.Result.Series = append(r.Result.Series, k.around())
	}
}

// effectSeries has a row for each change, replica and kind of connection.
func (r *routeChanges) effectSeries() result.Series {
	var kind, asked, replica, connections []string
	var number, since, first, good result.Numbers
	for _, k := range r.measured() {
		for i := range k.seen {
			for _, e := range k.seen[i].effects {
				l := k.lanes[e.Lane]
				kind, asked, replica = append(kind, k.kind.name), append(asked, k.streams[l.Stream].Name), append(replica, l.Replica)
				connections = append(connections, map[bool]string{true: "new", false: "kept"}[l.Fresh])
				number = append(number, float64(i+1))
				since, first, good = append(since, e.Since.Seconds()), append(first, inSeconds(e.First)), append(good, inSeconds(e.Good))
			}
		}
	}
	return result.Series{Name: "lanes", Title: "One row for each change, stream, replica and kind of connection", Columns: []result.Column{
		{Name: "kind", Labels: kind}, {Name: "change", Unit: "1", Values: number}, {Name: "asked", Labels: asked},
		{Name: "replica", Labels: replica}, {Name: "connections", Labels: connections},
		{Name: "first-after", Title: "old answer last asked for before the first new one", Unit: "s", Values: since},
		{Name: "first", Title: "new version first seen", Unit: "s", Values: first},
		{Name: "good", Title: "in force for good", Unit: "s", Values: good},
	}}
}

// aroundName is the series of a kind's pictures.
func (k *kindChanges) aroundName() string { return "around-" + k.kind.name }

// around lays all changes of a kind over each other: errors and the slowest
// answer by the time since the write at which a request was due.
func (k *kindChanges) around() result.Series {
	n := int(pictureAfter / pictureBin)
	at, requests, errors, slowest := make(result.Numbers, n), make(result.Numbers, n), make(result.Numbers, n), make(result.Numbers, n)
	for i := range n {
		at[i] = (time.Duration(i) * pictureBin).Seconds()
		bin := k.bins[i]
		requests[i], errors[i], slowest[i] = float64(bin.requests), float64(bin.errors), bin.slowest
		if bin.requests == 0 {
			slowest[i] = math.NaN()
		}
	}
	return result.Series{Name: k.aroundName(), Title: "Requests by when they were due after the write, " + k.kind.name, Columns: []result.Column{
		{Name: "time", Title: "since the write", Unit: "s", Values: at}, {Name: "requests", Unit: "1", Values: requests},
		{Name: "errors", Unit: "1", Values: errors}, {Name: "slowest", Title: "slowest answer", Unit: "s", Values: slowest},
	}}
}

// pictured is how many kinds a picture shows beside the control.
const pictured = 5

func (r *routeChanges) figures() {
	shown := r.changed()
	slices.SortStableFunc(shown, func(a, b *kindChanges) int {
		return scenario.Total(b.errors()) + scenario.Total(b.neighbourErrors()) - scenario.Total(a.errors()) - scenario.Total(a.neighbourErrors())
	})
	shown = shown[:min(len(shown), pictured)]
	for _, k := range r.measured() {
		if k.kind.name == controlKind {
			shown = append(shown, k)
		}
	}
	lines := func(y string) []result.Line {
		var all []result.Line
		for _, k := range shown {
			all = append(all, result.Line{Title: k.kind.name, Series: k.aroundName(), X: "time", Y: y})
		}
		return all
	}
	if len(shown) == 0 {
		return
	}
	r.Result.Figures = append(r.Result.Figures,
		result.Figure{
			Name: "errors-around", Title: "Errors after a change, all changes of a kind laid over each other",
			Caption: "Each request stands where it was due, in steps of " + strconv.Itoa(int(pictureBin.Milliseconds())) + " ms. The kinds with the most errors are shown, and the control, in which nothing changed.",
			Kind:    "step", XTitle: "since the write", XUnit: "s", YTitle: "errors", Lines: lines("errors"),
		},
		result.Figure{
			Name: "latency-around", Title: "Slowest answer after a change, all changes of a kind laid over each other",
			Kind: "step", XTitle: "since the write", XUnit: "s", YTitle: "slowest answer", YUnit: "s", LogY: true, Lines: lines("slowest"),
		})
}
