package backendfailover

import (
	"fmt"
	"math"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
	"github.com/gatemark/gatemark/stat"
)

// report turns what was seen into metrics, a table, series, pictures, findings,
// gates and a file of all requests for each way to fail.
func (f *failover) report() error {
	f.metrics()
	f.Result.Tables = append(f.Result.Tables, f.table())
	for _, k := range f.kinds {
		f.picture(k)
		file, err := stream.Parquet(k.began, k.lanes, k.hits, func(int) string { return serviceName })
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
		f.Attachments["requests-"+k.kind.name+".parquet"] = file
	}
	f.series()
	f.findings()
	f.gates()
	return nil
}

func (f *failover) metrics() {
	requests, failed, masked := 0, 0, 0
	var sheds, backs []float64
	limit := stat.Options{Limit: f.Values.Duration("period").Seconds()}
	for _, k := range f.kinds {
		name, say := k.kind.name, func(what string) string { return what + ", " + k.kind.name }
		n, errors, failing, _ := k.sum()
		requests, failed, masked = requests+n, failed+errors, masked+k.masked()
		shed, back := k.seconds(func(o *outage) time.Duration { return o.shed }), k.seconds(func(o *outage) time.Duration { return o.back })
		sheds, backs = append(sheds, shed...), append(backs, back...)
		f.Metric("errors-"+name, among(result.Count(say("Errors while it failed"), errors), n))
		f.Metric("requests-to-failing-"+name, result.Count(say("Requests that came to it while it failed"), failing).Lower())
		f.Samples("shed-"+name, say("Until it got no more requests for a while"), shed, limit)
		f.Samples("return-"+name, say("From when it was well until its first good answer"), back, limit)
		if k.kind.counts != "" {
			f.Metric("masked-"+name, result.Count(say("Requests that failed at it and at no user"), k.masked()))
		}
		f.Metric("unasked-"+name, result.Value(say("Requests at all backends that no user sent"), "1/s", k.unasked()).Lower())
	}
	f.Metric("errors", among(result.Count("Errors while a backend failed, of all kinds", failed), requests))
	f.Metric("masked", result.Count("Requests that failed at the backend and at no user, of all kinds", masked))
	f.Samples("shed", "Until the failing backend got no more requests for a while, of all kinds", sheds, limit)
	f.Samples("return", "From when the backend was well until its first good answer, of all kinds", backs, limit)
	rest, restErrors := f.rest()
	f.Metric("errors-at-rest", among(result.Count("Errors while all backends were well", scenario.Total(restErrors)), rest))
}

// among says of how many a count is. That none was seen bounds the rate.
func among(m result.Metric, n int) result.Metric {
	m.N = n
	if *m.Value == 0 && n > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("none in %d: the true share is below %.2g %%, at 95 %% confidence", n, 100*stat.RuleOfThree(n)))
	}
	return m.Lower()
}

func (f *failover) table() result.Table {
	t := result.Table{Name: "failover", Title: "What comes of a backend that fails", Columns: []string{
		"The backend", "Outages", "Errors of users", "Share", "Kinds of errors", "Requests to it while it failed", "Of these hidden by retries", "On paths",
		"Left alone after, median", "Used again after, median", "Requests nobody sent",
	}}
	for _, k := range f.kinds {
		requests, failed, failing, all := k.sum()
		masked := "-"
		if k.kind.counts != "" {
			masked = fmt.Sprint(k.masked())
		}
		paths := 0
		for i := range k.outages {
			paths = max(paths, k.outages[i].paths)
		}
		t.Rows = append(t.Rows, []string{
			k.kind.name, fmt.Sprint(len(k.outages)), fmt.Sprintf("%d of %d", failed, requests), fmt.Sprintf("%.3g %%", 100*float64(failed)/float64(max(requests, 1))), words(all),
			fmt.Sprint(failing), masked, fmt.Sprintf("%d of %d", paths, k.paths),
			scenario.Seconds(stat.Median(k.seconds(func(o *outage) time.Duration { return o.shed }))), scenario.Seconds(stat.Median(k.seconds(func(o *outage) time.Duration { return o.back }))),
			fmt.Sprintf("%.3g/s", k.unasked()),
		})
	}
	return t
}

// bin is the step of the pictures.
const bin = 250 * time.Millisecond

// picture draws the requests to the backend that fails over time, as published
// benchmarks do: those that failed, and those that went well.
func (f *failover) picture(k *kindSeen) {
	if len(k.outages) == 0 {
		return
	}
	end := k.outages[len(k.outages)-1].next
	n := int((end-k.ready)/bin) + 1
	at, failed, well, users := make(result.Numbers, n), make(result.Numbers, n), make(result.Numbers, n), make(result.Numbers, n)
	offset := f.At(k.began)
	place := func(at time.Duration) int { return min(max(int((at-k.ready)/bin), 0), n-1) }
	for i := range n {
		at[i] = math.Round(1e3*(offset+(k.ready+time.Duration(i)*bin).Seconds())) / 1e3
	}
	per := 1 / bin.Seconds()
	for i := range k.hits {
		h := &k.hits[i]
		_, during := k.outageOf(h)
		switch {
		case !good(h) || k.slow(h):
			users[place(h.Due)] += per
		case h.Marker.Pod == k.victim && !(during && k.kind.leaves):
			well[place(h.Ended)] += per
		case h.Marker.Pod == k.victim:
			failed[place(h.Ended)] += per
		}
	}
	if k.kind.counts != "" {
		for i := 1; i < len(k.samples); i++ {
			// There are none while it is well, but those that no user sent.
			more := max(0, k.failing(&k.samples[i-1].counted, &k.samples[i].counted))
			failed[place(k.samples[i].at)] += per * float64(more)
		}
	}
	s := result.Series{Name: "over-time-" + k.kind.name, Title: "Requests over time, " + k.kind.name, Columns: []result.Column{
		{Name: "time", Title: "since the measurement began", Unit: "s", Values: at},
		{Name: "failing", Title: "requests to the backend while it failed", Unit: "1/s", Values: failed},
		{Name: "well", Title: "good answers of that backend", Unit: "1/s", Values: well},
		{Name: "errors", Title: "errors of users", Unit: "1/s", Values: users},
	}}
	f.Result.Series = append(f.Result.Series, s)
	figure := result.Figure{
		Name: "over-time-" + k.kind.name, Title: "Requests to a backend that " + k.kind.title, Kind: "step",
		XTitle: "since the measurement began", XUnit: "s", YTitle: "requests", YUnit: "1/s",
		Caption: "Best is no request while it fails, and as many as before from the moment at which it is well again.",
		Events:  []string{"fails: " + k.kind.name, "is well again: " + k.kind.name},
	}
	for _, c := range s.Columns[1:] {
		if c.Name == "failing" && k.kind.counts == "" && !k.kind.leaves {
			continue // nobody counts them
		}
		figure.Lines = append(figure.Lines, result.Line{Title: c.Title, Series: s.Name, X: "time", Y: c.Name})
	}
	f.Result.Figures = append(f.Result.Figures, figure)
}

// series has a row for each outage.
func (f *failover) series() {
	var kinds []string
	columns := []result.Column{
		{Name: "kind"}, {Name: "from", Title: "since the measurement began", Unit: "s"}, {Name: "until", Title: "since the measurement began", Unit: "s"},
		{Name: "requests", Unit: "1"}, {Name: "errors", Title: "errors of users", Unit: "1"}, {Name: "failing", Title: "requests to the backend while it failed", Unit: "1"},
		{Name: "paths", Title: "paths of these", Unit: "1"}, {Name: "shed", Title: "until it got no more for a while", Unit: "s"}, {Name: "return", Title: "until its first good answer", Unit: "s"},
	}
	for _, k := range f.kinds {
		for i := range k.outages {
			o := &k.outages[i]
			kinds = append(kinds, k.kind.name)
			for c, v := range []float64{
				f.At(k.began.Add(o.from)), f.At(k.began.Add(o.until)), float64(o.requests), float64(scenario.Total(o.errors)), float64(o.failing), float64(o.paths), scenario.SecondsSeen(o.shed), scenario.SecondsSeen(o.back),
			} {
				columns[c+1].Values = append(columns[c+1].Values, v)
			}
		}
	}
	columns[0].Labels = kinds
	f.Result.Series = append(f.Result.Series, result.Series{Name: "outages", Title: "One row for each outage", Columns: columns})
}

// gapLimit is the longest time without a sample of the backend's counters.
const gapLimit = 500 * time.Millisecond

func (f *failover) gates() {
	var all stream.Totals
	gap := time.Duration(0)
	for _, k := range f.kinds {
		all.Merge(k.load)
		for i := 1; i < len(k.samples); i++ {
			gap = max(gap, k.samples[i].at-k.samples[i-1].at)
		}
	}
	all.Gates(f.Gate)
	f.Gate("counter-gaps", "longest time without a look at the counters of the backend that fails", "s", gap.Seconds(), gapLimit.Seconds())
}
