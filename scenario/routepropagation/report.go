package routepropagation

import (
	"math"
	"slices"
	"time"

	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

// lateLimit is the share of probes that may be begun more than a millisecond
// after they were due. Each is judged by when it was really sent, so that most
// being late says no more than that the schedule was not kept; what that may have
// moved has a gate of its own.
const lateLimit = 0.5

// A late probe matters where it was due during the change itself. It may have
// moved what was measured by movedLimit or by movedShare of it, whichever is
// more, at movedLanes of all replicas and kinds of connections.
const (
	movedLimit = 5 * time.Millisecond
	movedShare = 0.1
	movedLanes = 0.1
)

// report turns what was seen of every route into metrics, series, figures and
// findings.
func (p *propagation) report() {
	p.metrics()
	p.changeMetrics()
	p.series()
	p.figures()
	p.shapesTable()
	p.changesTable()
	p.findings()
	p.changeFindings()
	p.probeGates()
}

// all are the new routes and the other changes.
func (p *propagation) all() []*propagated {
	var all []*propagated
	for i := range p.routes {
		all = append(all, &p.routes[i])
	}
	for i := range p.changes {
		all = append(all, &p.changes[i])
	}
	return all
}

// kinds are the kinds of connections that were probed.
func (p *propagation) kinds() []probe.Connections {
	switch all := p.options().Connections; all {
	case probe.Both:
		return []probe.Connections{probe.Kept, probe.Fresh}
	default:
		return []probe.Connections{all}
	}
}

// after is an instant in seconds since the route's t0; +Inf where it was not
// seen, which counts as censored.
func (r *propagated) after(instant time.Time) float64 {
	if instant.IsZero() {
		return math.Inf(1)
	}
	return instant.Sub(r.at).Seconds()
}

// lead is for how long the status was current before traffic was right: negative
// where traffic was right first. NaN where either was not seen.
func (r *propagated) lead(both probe.Connections) float64 {
	lead := r.after(r.outcome.StableEverywhere(both)) - r.statusSeconds()
	if math.IsInf(lead, 0) {
		return math.NaN()
	}
	return lead
}

func (r *propagated) errors() probe.Counts {
	return r.outcome.Total(func(l *probe.Lane) *probe.Counts { return &l.Transition })
}

func (r *propagated) statusSeconds() float64 {
	if r.status < 0 {
		return math.Inf(1)
	}
	return r.status.Seconds()
}

// collect gives one number for each route but the first, which is kept apart:
// it may pay for what the data plane sets up once.
func (p *propagation) collect(of func(*propagated) float64) []float64 {
	from := min(1, len(p.routes)-1)
	var all []float64
	for i := range p.routes[from:] {
		all = append(all, of(&p.routes[from+i]))
	}
	return all
}

func (p *propagation) metrics() {
	both := p.options().Connections
	limit := stat.Options{Limit: p.Values.Duration("limit").Seconds()}
	p.Samples("api", "API answered", p.collect(func(r *propagated) float64 { return r.answered.Seconds() }), stat.Options{})
	p.Samples("status", "Status current", p.collect((*propagated).statusSeconds), limit)
	p.Samples("first-served", "First served, on any replica", p.collect(func(r *propagated) float64 { return r.after(r.outcome.First(both)) }), limit)
	p.Samples("served-everywhere", "Served by every replica", p.collect(func(r *propagated) float64 { return r.after(r.outcome.FirstEverywhere(both)) }), limit)
	p.Samples("stable", "Served for good by every replica", p.collect(p.stableSeconds), limit)
	for _, kind := range p.kinds() {
		p.Samples("stable-"+kind.String(), "Served for good, "+kind.String()+" connections",
			p.collect(func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(kind)) }), limit)
	}
	first := &p.routes[0]
	if stable := p.stableSeconds(first); !math.IsInf(stable, 0) {
		p.Metric("first-route", result.Value("The first route of the Gateway, served for good", "s", stable).Lower())
	}
	// Signed: positive where traffic came after the status said it would.
	lead := p.collect(func(r *propagated) float64 { return r.lead(both) })
	p.Metric("status-lead", scenario.Distribution("Served for good, after status was current (negative: before)", "s", stat.Summarize(finite(lead), stat.Options{})))
	total := p.total()
	// Counts in so many probes: that none was seen bounds the rate.
	among := func(m result.Metric) result.Metric { m.N = total.Sent; return m.Lower() }
	p.Metric("errors", among(result.Count("Answers that were neither "+p.route().Unserved+" nor right", total.ErrorCount())))
	p.Metric("flaps", among(result.Count("Old answers after the first right one on the same replica", p.flaps())))
	p.Metric("probes", result.Count("Probes sent after the writes", total.Sent+p.afterwards().Sent))
	p.configMetrics()
	for name, m := range p.Result.Metrics {
		if m.Unit == "s" && m.P50 != nil {
			p.setResolution(name)
		}
	}
}

// setResolution gives a metric the time between two probes that it rests on,
// which is longer where what was measured is.
func (p *propagation) setResolution(name string) {
	m := p.Result.Metrics[name]
	step := p.step(name)
	m.Resolution = step.Seconds()
	if m.P50 != nil && step > 0 {
		m.Resolution = max(m.Resolution, probe.DefaultSparse**m.P50)
	}
	p.Result.Metrics[name] = m
}

// step is the shortest time between two of the probes that a metric rests on.
func (p *propagation) step(metric string) time.Duration {
	step, fresh := p.pace.kept, p.pace.fresh
	switch {
	case metric == "api" || metric == "status":
		return 0 // no probes
	case metric == "stable-kept" || p.options().Connections == probe.Kept:
		return step
	case metric == "stable-new" || p.options().Connections == probe.Fresh:
		return fresh
	}
	return max(step, fresh)
}

// configMetrics holds first served against the proxy's own clock.
func (p *propagation) configMetrics() {
	var differences, configured []float64
	early := 0
	for i := range p.routes {
		for _, c := range p.routes[i].config {
			configured = append(configured, c.Updated.Sub(p.routes[i].at.Round(0)).Seconds())
			if first := p.routes[i].firstOn(c.Replica); !first.IsZero() {
				// The dump has milliseconds: it may say up to one too early,
				// never too late.
				d := first.Round(0).Sub(c.Updated)
				differences = append(differences, d.Seconds())
				if d < 0 {
					early++
				}
			}
		}
	}
	if p.config.Err != nil {
		p.Note("Some configuration dumps could not be read: %v.", p.config.Err)
	}
	if len(differences) == 0 {
		return
	}
	p.Metric("first-served-after-config", scenario.Distribution("First served, after the replica took its configuration (by its own clock)", "s",
		stat.Summarize(differences, stat.Options{})))
	p.Metric("configured", scenario.Distribution("A replica has its configuration (by its own clock)", "s", stat.Summarize(configured, stat.Options{})).Lower())
	p.Gate("served-before-configured", "answers received before the replica says that it had the route", "1", float64(early), 0)
	p.Result.Series = append(p.Result.Series, result.Series{
		Name: "config-clock", Title: "First served, after the replica's own configuration time",
		Columns: []result.Column{{Name: "difference", Title: "after configuration", Unit: "s", Values: differences}},
	})
	p.Result.Figures = append(p.Result.Figures, result.Figure{
		Name: "config-clock", Title: "First served, against the proxy's own clock",
		Caption: "How long after a replica took the configuration with a route (its own last_updated) our probes were first answered by it. Never below zero, or our clock is wrong.",
		Kind:    "ecdf", XTitle: "first served after configuration", XUnit: "s", YTitle: "share of routes and replicas",
		Lines: []result.Line{{Title: "routes × replicas", Series: "config-clock", X: "difference"}},
	})
}

// firstOn is when a replica first served the route, on any connection.
func (r *propagated) firstOn(replica string) time.Time {
	var first time.Time
	for i := range r.outcome.Lanes {
		lane := &r.outcome.Lanes[i]
		if by := lane.First.By; lane.Target.Name == replica && !by.IsZero() && (first.IsZero() || by.Before(first)) {
			first = by
		}
	}
	return first
}

// total counts the answers between the writes and service for good.
func (p *propagation) total() probe.Counts {
	return sum(rows(p.routes))
}

func (p *propagation) afterwards() probe.Counts {
	var total probe.Counts
	for i := range p.routes {
		c := p.routes[i].outcome.Total(func(l *probe.Lane) *probe.Counts { return &l.After })
		total.Add(&c)
	}
	return total
}

func (p *propagation) flaps() int {
	n := 0
	for i := range p.routes {
		n += p.routes[i].flaps()
	}
	return n
}

func (r *propagated) flaps() int {
	n := 0
	for i := range r.outcome.Lanes {
		n += r.outcome.Lanes[i].Flaps
	}
	return n
}

func (p *propagation) probeGates() {
	realtime, lanes, late := 0, 0, 0
	var counts probe.Counts
	for _, r := range p.all() {
		if r.outcome.Realtime {
			realtime++
		}
		during, after := r.errors(), r.outcome.Total(func(l *probe.Lane) *probe.Counts { return &l.After })
		counts.Add(&during)
		counts.Add(&after)
		late += r.moved
		for i := range r.outcome.Lanes {
			if r.outcome.Lanes[i].First.Seen() {
				lanes++
			}
		}
	}
	p.Note("The prober's thread ran before all ordinary ones at %d of %d changes.", realtime, len(p.all()))
	if counts.Sent == 0 {
		return
	}
	p.Gate("late-probes", "probes begun more than 1 ms after they were due", "ratio", float64(counts.Late)/float64(counts.Sent), lateLimit)
	p.Gate("late-at-change", "changes that late probes may have moved by more than 5 ms and more than a tenth of their time", "ratio", float64(late)/float64(max(lanes, 1)), movedLanes)
}

// moved counts the lanes at which late probes matter.
func moved(o *probe.Outcome) int {
	n := 0
	for i := range o.Lanes {
		lane := &o.Lanes[i]
		if !lane.First.Seen() {
			continue
		}
		took := lane.First.By.Sub(o.T0)
		if o.Lateness(lane) > max(movedLimit, time.Duration(movedShare*float64(took))) {
			n++
		}
	}
	return n
}

func (p *propagation) series() {
	p.Result.Series = append(p.Result.Series, p.changeSeries("routes", "One row for each route", "route", "route number", rows(p.routes)), p.lanes())
	for _, k := range changeKinds {
		if made := p.of(k.name); k.name != kindCreate && len(made) > 0 {
			p.Result.Series = append(p.Result.Series, p.changeSeries("change-"+k.name, "One row for each of the "+k.plural, "change", "change", made))
		}
	}
}

func rows(changes []propagated) []*propagated {
	var all []*propagated
	for i := range changes {
		all = append(all, &changes[i])
	}
	return all
}

// of are the changes of a kind.
func (p *propagation) of(kind string) []*propagated {
	if kind == kindCreate {
		return rows(p.routes)
	}
	return slices.DeleteFunc(rows(p.changes), func(r *propagated) bool { return r.kind != kind })
}

// changeSeries has a row for each change.
func (p *propagation) changeSeries(name, title, number, numberTitle string, changes []*propagated) result.Series {
	both := p.options().Connections
	s := result.Series{Name: name, Title: title, Columns: []result.Column{{Name: number, Title: numberTitle, Unit: "1"}}}
	for i := range changes {
		s.Columns[0].Values = append(s.Columns[0].Values, float64(i+1))
	}
	for _, c := range []struct {
		name, title, unit string
		of                func(*propagated) float64
	}{
		{"written", "write sent, since the measurement began", "s", func(r *propagated) float64 { return p.At(r.at) }},
		{"api", "API answered", "s", func(r *propagated) float64 { return r.answered.Seconds() }},
		{"status", "status current", "s", (*propagated).statusSeconds},
		{"first-served", "first served", "s", func(r *propagated) float64 { return r.after(r.outcome.First(both)) }},
		{"served-everywhere", "served by every replica", "s", func(r *propagated) float64 { return r.after(r.outcome.FirstEverywhere(both)) }},
		{"stable", "served for good", "s", func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(both)) }},
		{"lead", "served for good, after status was current", "s", func(r *propagated) float64 { return r.lead(both) }},
		{"errors", "errors", "1", func(r *propagated) float64 { c := r.errors(); return float64(c.ErrorCount()) }},
	} {
		column := result.Column{Name: c.name, Title: c.title, Unit: c.unit}
		for _, r := range changes {
			column.Values = append(column.Values, c.of(r))
		}
		if (c.name == "status" || c.name == "lead") && len(changes) > 0 && changes[0].silent {
			continue
		}
		s.Columns = append(s.Columns, column)
	}
	return s
}

// lanes has one row for each route, replica and kind of connection.
func (p *propagation) lanes() result.Series {
	var route, after, first, stable, errors, flaps result.Numbers
	var replica, kind []string
	for i := range p.routes {
		r := &p.routes[i]
		for j := range r.outcome.Lanes {
			lane := &r.outcome.Lanes[j]
			route = append(route, float64(i+1))
			replica = append(replica, lane.Target.Name)
			kind = append(kind, lane.Connections.String())
			after = append(after, max(0, r.after(lane.First.After)))
			first = append(first, r.after(lane.First.By))
			stable = append(stable, r.after(lane.Stable.By))
			errors = append(errors, float64(lane.Transition.ErrorCount()))
			flaps = append(flaps, float64(lane.Flaps))
		}
	}
	return result.Series{Name: "lanes", Title: "One row for each route, replica and kind of connection", Columns: []result.Column{
		{Name: "route", Unit: "1", Values: route},
		{Name: "replica", Labels: replica},
		{Name: "connections", Labels: kind},
		{Name: "first-after", Title: "not yet served at", Unit: "s", Values: after},
		{Name: "first-served", Title: "first served", Unit: "s", Values: first},
		{Name: "stable", Title: "served for good", Unit: "s", Values: stable},
		{Name: "errors", Unit: "1", Values: errors},
		{Name: "flaps", Unit: "1", Values: flaps},
	}}
}

// figures draw shares first and what goes over the number of routes last: what
// the planes used for it is drawn below.
func (p *propagation) figures() {
	p.Result.Figures = append(p.Result.Figures, result.Figure{
		Name: "propagation-shares", Title: "Share of routes in force within a time",
		Kind: "ecdf", XTitle: "since the write was sent", XUnit: "s", YTitle: "share of routes", LogX: true,
		Lines: []result.Line{
			{Title: "API answered", Series: "routes", X: "api"},
			{Title: "status current", Series: "routes", X: "status"},
			{Title: "first served", Series: "routes", X: "first-served"},
			{Title: "served for good", Series: "routes", X: "stable"},
		},
	})
	p.changeFigures()
	p.Result.Figures = append(p.Result.Figures, result.Figure{
		Name: "propagation", Title: "Time to be in force, over the number of routes",
		Caption: "Each dot is one route: how long after its write was sent every replica served it for good. A rising cloud means that a change costs more the more routes there are.",
		Kind:    "scatter", XTitle: "route number", YTitle: "since the write was sent", YUnit: "s",
		Lines: []result.Line{
			{Title: "served for good", Series: "routes", X: "route", Y: "stable"},
			{Title: "status current", Series: "routes", X: "route", Y: "status"},
		},
	})
	if p.total().ErrorCount() > 0 {
		p.Result.Figures = append(p.Result.Figures, result.Figure{
			Name: "propagation-errors", Title: "Errors while a route came into force",
			Kind: "scatter", XTitle: "route number", YTitle: "errors of that route",
			Lines: []result.Line{{Title: "errors", Series: "routes", X: "route", Y: "errors"}},
		})
	}
}

func finite(values []float64) []float64 {
	var kept []float64
	for _, v := range values {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
