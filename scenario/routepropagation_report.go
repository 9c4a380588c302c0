package scenario

import (
	"math"
	"time"

	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// lateLimit is the share of probes that may be begun more than a millisecond
// after they were due. Each is judged by when it was really sent, so that being
// late makes the picture coarser and not wrong; a virtual machine's host alone
// can make one in twenty late.
const lateLimit = 0.1

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
	p.series()
	p.figures()
	p.findings()
	p.probeGates()
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
	p.Samples("stable", "Served for good by every replica", p.collect(func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(both)) }), limit)
	for _, kind := range p.kinds() {
		p.Samples("stable-"+kind.String(), "Served for good, "+kind.String()+" connections",
			p.collect(func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(kind)) }), limit)
	}
	first := &p.routes[0]
	if stable := first.after(first.outcome.StableEverywhere(both)); !math.IsInf(stable, 0) {
		p.Metric("first-route", result.Value("The first route of the Gateway, served for good", "s", stable).Lower())
	}
	// Signed: positive where traffic came after the status said it would.
	lead := p.collect(func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(both)) - r.statusSeconds() })
	p.Metric("status-lead", distribution("Served for good, after status was current (negative: before)", "s", stat.Summarize(finite(lead), stat.Options{})))
	total := p.total()
	// Counts in so many probes: that none was seen bounds the rate.
	among := func(m result.Metric) result.Metric { m.N = total.Sent; return m.Lower() }
	p.Metric("errors", among(result.Count("Answers that were neither 404 nor right", total.ErrorCount())))
	p.Metric("flaps", among(result.Count("Old answers after the first right one on the same replica", p.flaps())))
	p.Metric("probes", result.Count("Probes sent after the writes", total.Sent+p.afterwards().Sent))
	p.configMetrics()
	for name, m := range p.Result.Metrics {
		if m.Unit == "s" && m.P50 != nil {
			m.Resolution = p.resolution(name).Seconds()
			p.Result.Metrics[name] = m
		}
	}
}

// resolution is the time between two probes that a metric rests on.
func (p *propagation) resolution(metric string) time.Duration {
	step, fresh := p.Values.Duration("step"), p.Values.Duration("freshStep")
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
	var differences []float64
	early := 0
	for i := range p.routes {
		for _, c := range p.routes[i].config {
			if first := p.routes[i].firstOn(c.replica); !first.IsZero() {
				// The dump has milliseconds: it may say up to one too early,
				// never too late.
				d := first.Round(0).Sub(c.updated)
				differences = append(differences, d.Seconds())
				if d < 0 {
					early++
				}
			}
		}
	}
	if p.config.err != nil {
		p.Note("Some configuration dumps could not be read: %v.", p.config.err)
	}
	if len(differences) == 0 {
		return
	}
	p.Metric("first-served-after-config", distribution("First served, after the replica took its configuration (by its own clock)", "s",
		stat.Summarize(differences, stat.Options{})))
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
	return p.sum(func(l *probe.Lane) *probe.Counts { return &l.Transition })
}

func (p *propagation) afterwards() probe.Counts {
	return p.sum(func(l *probe.Lane) *probe.Counts { return &l.After })
}

func (p *propagation) sum(stretch func(*probe.Lane) *probe.Counts) probe.Counts {
	var total probe.Counts
	for i := range p.routes {
		c := p.routes[i].outcome.Total(stretch)
		total.Add(&c)
	}
	return total
}

func (p *propagation) flaps() int {
	n := 0
	for i := range p.routes {
		for j := range p.routes[i].outcome.Lanes {
			n += p.routes[i].outcome.Lanes[j].Flaps
		}
	}
	return n
}

func (p *propagation) probeGates() {
	realtime := 0
	for i := range p.routes {
		if p.routes[i].outcome.Realtime {
			realtime++
		}
	}
	p.Note("The prober's thread ran before all ordinary ones at %d of %d routes.", realtime, len(p.routes))
	counts := p.total()
	after := p.afterwards()
	counts.Add(&after)
	if counts.Sent == 0 {
		return
	}
	p.Gate("late-probes", "probes begun more than 1 ms after they were due", "ratio", float64(counts.Late)/float64(counts.Sent), lateLimit)
	p.Gate("late-at-change", "changes that late probes may have moved by more than 5 ms and more than a tenth of their time", "ratio", p.moved(), movedLanes)
}

// moved is the share of the lanes at which late probes matter.
func (p *propagation) moved() float64 {
	var moved, all float64
	for i := range p.routes {
		o := p.routes[i].outcome
		for j := range o.Lanes {
			lane := &o.Lanes[j]
			if !lane.First.Seen() {
				continue
			}
			all++
			took := lane.First.By.Sub(o.T0)
			if o.Lateness(lane) > max(movedLimit, time.Duration(movedShare*float64(took))) {
				moved++
			}
		}
	}
	return moved / max(all, 1)
}

func (p *propagation) series() {
	n := len(p.routes)
	column := func(name, title string, of func(*propagated) float64) result.Column {
		values := make(result.Numbers, n)
		for i := range p.routes {
			values[i] = of(&p.routes[i])
		}
		return result.Column{Name: name, Title: title, Unit: "s", Values: values}
	}
	both := p.options().Connections
	number := column("route", "route number", func(*propagated) float64 { return 0 })
	number.Unit = "1"
	for i := range number.Values {
		number.Values[i] = float64(i + 1)
	}
	errors := column("errors", "errors", func(r *propagated) float64 {
		c := r.outcome.Total(func(l *probe.Lane) *probe.Counts { return &l.Transition })
		return float64(c.ErrorCount())
	})
	errors.Unit = "1"
	p.Result.Series = append(p.Result.Series, result.Series{Name: "routes", Title: "One row for each route", Columns: []result.Column{
		number,
		column("written", "write sent, since the measurement began", func(r *propagated) float64 { return p.At(r.at) }),
		column("api", "API answered", func(r *propagated) float64 { return r.answered.Seconds() }),
		column("status", "status current", (*propagated).statusSeconds),
		column("first-served", "first served", func(r *propagated) float64 { return r.after(r.outcome.First(both)) }),
		column("served-everywhere", "served by every replica", func(r *propagated) float64 { return r.after(r.outcome.FirstEverywhere(both)) }),
		column("stable", "served for good", func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(both)) }),
		errors,
	}}, p.lanes())
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

func (p *propagation) figures() {
	p.Result.Figures = append(p.Result.Figures,
		result.Figure{
			Name: "propagation", Title: "Time to be in force, over the number of routes",
			Caption: "Each dot is one route: how long after its write was sent every replica served it for good. A rising cloud means that a change costs more the more routes there are.",
			Kind:    "scatter", XTitle: "route number", YTitle: "since the write was sent", YUnit: "s",
			Lines: []result.Line{
				{Title: "served for good", Series: "routes", X: "route", Y: "stable"},
				{Title: "status current", Series: "routes", X: "route", Y: "status"},
			},
		},
		result.Figure{
			Name: "propagation-shares", Title: "Share of routes in force within a time",
			Kind: "ecdf", XTitle: "since the write was sent", XUnit: "s", YTitle: "share of routes", LogX: true,
			Lines: []result.Line{
				{Title: "API answered", Series: "routes", X: "api"},
				{Title: "status current", Series: "routes", X: "status"},
				{Title: "first served", Series: "routes", X: "first-served"},
				{Title: "served for good", Series: "routes", X: "stable"},
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
