package planerestart

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

// report turns what was seen into metrics, tables, series, a figure, findings
// and gates.
func (r *restarts) report() {
	r.metrics()
	r.Result.Tables = append(r.Result.Tables, r.eventTable(), r.socketTable())
	r.series()
	r.findings()
	r.loadGates()
	for _, k := range r.kinds {
		if k.unsupported != "" {
			r.Note("The kind of event %s did not take place: %s.", k.kind.name, k.unsupported)
		}
	}
	if r.noSockets != "" {
		r.Note("WebSockets were left out: %s.", r.noSockets)
	}
}

func (r *restarts) metrics() {
	events, affected, requests, errors, open, lost := 0, 0, 0, 0, 0, 0
	for _, s := range r.steps() {
		r.stepMetrics(s)
		if s.name == control {
			continue
		}
		saw := s.sum()
		held, ended := s.sockets()
		events, affected = events+len(s.events), affected+s.withErrors()
		requests, errors = requests+saw.all(), errors+saw.failed()
		open, lost = open+held, lost+len(ended)
	}
	r.Metric("events-with-errors", among(result.Count("Events at which users got errors", affected), events))
	r.Metric("errors", among(result.Count("Errors during events, of all kinds", errors), requests))
	r.Metric("sockets-lost", among(result.Count("WebSockets that ended during events, of all kinds", lost), open))
	rest, restErrors := r.base()
	r.Metric("errors-at-rest", among(result.Count("Errors while nothing happened", restErrors), rest))
}

// among says of how many a count is. That none was seen bounds the rate.
func among(m result.Metric, n int) result.Metric {
	m.N = n
	if *m.Value == 0 && n > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("none in %d: the true share is below %.2g %%, at 95 %% confidence", n, 100*stat.RuleOfThree(n)))
	}
	return m.Lower()
}

// stepMetrics are those of one step; their names end with its.
func (r *restarts) stepMetrics(s *stepSeen) {
	say := func(what string) string { return what + ", " + s.name }
	saw := s.sum()
	r.Metric("events-with-errors-"+s.name, among(result.Count(say("Events with errors"), s.withErrors()), len(s.events)))
	r.Metric("errors-"+s.name, among(result.Count(say("Errors"), saw.failed()), saw.all()))
	r.Metric("errors-kept-"+s.name, among(result.Count(say("Errors on kept connections"), scenario.Total(saw.errors[0])), saw.requests[0]))
	r.Metric("errors-new-"+s.name, among(result.Count(say("Errors on new connections"), scenario.Total(saw.errors[1])), saw.requests[1]))
	r.Metric("longest-errors-"+s.name, result.Value(say("Longest row of errors"), "s", saw.longest.Seconds()).Lower())
	r.Metric("worst-share-"+s.name, result.Value(say("Highest share of errors in 100 ms"), "ratio", saw.worst).Lower())
	limit := stat.Options{Limit: r.Values.Duration("limit").Seconds()}
	if changes := s.changes(); len(changes) > 0 {
		r.Samples("change-"+s.name, say("A change in force everywhere"), changes, limit)
	}
	if open, ended := s.sockets(); open > 0 {
		r.Metric("sockets-lost-"+s.name, among(result.Count(say("WebSockets that ended"), len(ended)), open))
		if len(ended) > 0 {
			r.Samples("sockets-outage-"+s.name, say("From the last echo of a WebSocket that ended until another was open"), outages(ended), limit)
		}
	}
	if s.name == control {
		return
	}
	r.Samples("back-"+s.name, say("All pods there, and every replica serving"), s.backs(), limit)
	wrong, came := 0, 0
	for _, e := range s.events {
		counts, _, _ := e.early()
		wrong += scenario.Total(counts)
		came += len(e.replicas)
	}
	if came > 0 {
		r.Metric("early-answers-"+s.name, result.Count(say(fmt.Sprintf("Wrong answers of %d new pods that were given users already", came)), wrong).Lower())
	}
}

// backs are how long it took until all was as it is to be; +Inf where it was
// not.
func (s *stepSeen) backs() []float64 {
	var all []float64
	for _, e := range s.events {
		if e.notBack != "" {
			all = append(all, math.Inf(1))
		} else {
			all = append(all, e.back.Seconds())
		}
	}
	return all
}

// eventTable answers what users notice.
func (r *restarts) eventTable() result.Table {
	t := result.Table{Name: "events", Title: "What users notice", Columns: []string{
		"Event", "Events with errors", "Errors of requests", "Kinds of errors", "On kept connections", "On new ones", "Longest row", "Worst 100 ms", "New pods, too early", "All serve, median", "Slowest", "Change in force, median",
	}}
	add := func(cells ...string) {
		for len(cells) < len(t.Columns) {
			cells = append(cells, "")
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, k := range r.kinds {
		switch {
		case k.unsupported != "":
			add(k.kind.name, "not supported")
		case len(k.events) == 0:
			add(k.kind.name, "not served before the first event")
		}
	}
	for _, s := range r.steps() {
		saw := s.sum()
		count := fmt.Sprintf("%d of %d", saw.failed(), saw.all())
		if saw.failed() == 0 && saw.all() > 0 {
			count += fmt.Sprintf(" (below %.2g %%)", 100*stat.RuleOfThree(saw.all()))
		}
		early, came := 0, 0
		for _, e := range s.events {
			_, replicas, _ := e.early()
			early, came = early+replicas, came+len(e.replicas)
		}
		backs := s.backs()
		add(s.name, fmt.Sprintf("%d of %d", s.withErrors(), len(s.events)), count, words(saw.both()),
			fmt.Sprintf("%d of %d", scenario.Total(saw.errors[0]), saw.requests[0]), fmt.Sprintf("%d of %d", scenario.Total(saw.errors[1]), saw.requests[1]),
			orDash(saw.failed() > 0, scenario.Seconds(saw.longest.Seconds())), orDash(saw.failed() > 0, fmt.Sprintf("%.0f %%", 100*saw.worst)),
			orDash(came > 0, fmt.Sprintf("%d of %d", early, came)),
			orDash(s.name != control, scenario.Seconds(stat.Median(backs))), orDash(s.name != control, scenario.Seconds(slices.Max(backs))),
			orDash(len(s.changes()) > 0, scenario.Seconds(stat.Median(s.changes()))))
	}
	return t
}

func orDash(there bool, cell string) string {
	if there {
		return cell
	}
	return "-"
}

// socketTable answers which WebSockets survive.
func (r *restarts) socketTable() result.Table {
	t := result.Table{Name: "sockets", Title: "Which WebSockets survive", Columns: []string{
		"Event", "Survived", "How the others ended", "Lived on, median", "Longest", "Without one, median", "Longest without one",
	}}
	for _, s := range r.steps() {
		open, ended := s.sockets()
		if open == 0 {
			continue
		}
		// One that was opened in another's place may end as well.
		row := []string{s.name, fmt.Sprintf("%d of %d", max(0, open-len(ended)), open), words(howOften(ended)), "-", "-", "-", "-"}
		if len(ended) > 0 {
			lived, without := s.lived(), outages(ended)
			row = append(row[:3], scenario.Seconds(stat.Median(lived)), scenario.Seconds(slices.Max(lived)), scenario.Seconds(stat.Median(without)), scenario.Seconds(slices.Max(without)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *restarts) loadGates() {
	var all stream.Totals
	for _, k := range r.kinds {
		all.Merge(k.load)
	}
	all.Gates(r.Gate)
}

func (r *restarts) series() {
	var names []string
	var at, back, change, requests, kept, fresh, longest, worst, early, open, lost result.Numbers
	for _, s := range r.steps() {
		for i, e := range s.events {
			names = append(names, s.name)
			at = append(at, r.At(s.kind.began.Add(e.t0)))
			back = append(back, s.backs()[i])
			when := math.NaN()
			if e.change != nil {
				when = s.changes()[i]
			}
			change = append(change, when)
			requests = append(requests, float64(e.saw.all()))
			kept, fresh = append(kept, float64(scenario.Total(e.saw.errors[0]))), append(fresh, float64(scenario.Total(e.saw.errors[1])))
			longest, worst = append(longest, e.saw.longest.Seconds()), append(worst, e.saw.worst)
			counts, _, _ := e.early()
			early = append(early, float64(scenario.Total(counts)))
			open, lost = append(open, float64(e.sockets)), append(lost, float64(len(e.ended)))
		}
	}
	r.Result.Series = append(r.Result.Series, result.Series{Name: "events", Title: "One row for each event", Columns: []result.Column{
		{Name: "event", Labels: names}, {Name: "began", Title: "since the measurement began", Unit: "s", Values: at},
		{Name: "back", Title: "all pods there, every replica serving", Unit: "s", Values: back},
		{Name: "change", Title: "a change in force everywhere", Unit: "s", Values: change},
		{Name: "requests", Unit: "1", Values: requests},
		{Name: "errors-kept", Title: "errors on kept connections", Unit: "1", Values: kept},
		{Name: "errors-new", Title: "errors on new connections", Unit: "1", Values: fresh},
		{Name: "longest", Title: "longest row of errors", Unit: "s", Values: longest},
		{Name: "worst", Title: "highest share of errors in 100 ms", Unit: "ratio", Values: worst},
		{Name: "early", Title: "wrong answers of new pods that were given users", Unit: "1", Values: early},
		{Name: "sockets", Title: "WebSockets open", Unit: "1", Values: open},
		{Name: "sockets-lost", Title: "WebSockets that ended", Unit: "1", Values: lost},
	}})
	figure := result.Figure{
		Name: "errors-around", Title: "Errors after an event, all events of a kind laid over each other",
		Caption: fmt.Sprintf("Each request stands where it was due, in steps of %d ms.", pictureBin/time.Millisecond),
		Kind:    "step", XTitle: "since the event began", XUnit: "s", YTitle: "errors",
	}
	for _, s := range r.steps() {
		one := s.around()
		r.Result.Series = append(r.Result.Series, one)
		figure.Lines = append(figure.Lines, result.Line{Title: s.name, Series: one.Name, X: "time", Y: "errors"})
	}
	if len(figure.Lines) > 0 {
		r.Result.Figures = append(r.Result.Figures, figure)
	}
}

// around lays all events of a step over each other.
func (s *stepSeen) around() result.Series {
	n := int(pictureAfter / pictureBin)
	at, requests, errors := make(result.Numbers, n), make(result.Numbers, n), make(result.Numbers, n)
	for i := range n {
		at[i] = (time.Duration(i) * pictureBin).Seconds()
		for _, e := range s.events {
			requests[i] += float64(e.bins[i].requests)
			errors[i] += float64(e.bins[i].errors)
		}
	}
	return result.Series{Name: "around-" + s.name, Title: "Requests by when they were due after the event began, " + s.name, Columns: []result.Column{
		{Name: "time", Title: "since the event began", Unit: "s", Values: at}, {Name: "requests", Unit: "1", Values: requests}, {Name: "errors", Unit: "1", Values: errors},
	}}
}
