package attachedroutes

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

func (a *attachment) report() {
	a.phaseMetrics("setup", "created", &a.up)
	a.phaseMetrics("teardown", "deleted", &a.down)
	a.acceptance()
	a.singleMetrics()
	a.Metric("answers-right", result.Count(fmt.Sprintf("Right answers when every route was asked once (of %d)", a.swept.Asked), a.swept.Right).Higher())
	a.countSeries()
	a.findCounts("setup", &a.up)
	a.findCounts("teardown", &a.down)
	a.findOvercount()
	a.findLateCounts()
	a.FindUnaccepted(a.lacks(), len(a.up.sent), a.Values.Duration("limit"))
	a.findUntruth()
	a.instantsTable()
	a.entriesTable()
}

// phaseMetrics adds the times of one direction: absolute, and the residuals
// that published benchmarks print.
func (a *attachment) phaseMetrics(name, verb string, p *phase) {
	limit := a.Values.Duration("limit").Seconds()
	n := len(p.sent)
	one := func(metric, title string, at, from time.Time) {
		if !at.IsZero() && at.Before(p.began()) {
			a.Metric(metric, untimed(title).Lower())
			return
		}
		value := math.Inf(1)
		if !at.IsZero() {
			value = at.Sub(from).Seconds()
		}
		a.Metric(metric, scenario.OneValue(title, value, limit).Lower())
	}
	one(name, fmt.Sprintf("All %d routes %s, until every listener counts right (from the first write)", n, verb), p.complete(), p.began())
	one(name+"-residual", "The same from the last write's answer, as published benchmarks print it", p.complete(), p.lastAnswered())
	one(name+"-writes", fmt.Sprintf("All routes %s: last write answered", verb), p.lastAnswered(), p.began())
	for i, l := range a.listeners {
		one(name+"-"+l.Name, fmt.Sprintf("Listener %s counts right, all routes %s", l.Name, verb), p.reached[i], p.began())
	}
}

// untimed is the metric of a count that was right before anything was written:
// one that never left 0, say. It took no time, and was not fast either.
func untimed(title string) result.Metric {
	return result.Metric{Title: title, Unit: "s", Warnings: []string{"the count was right before the first write: there was nothing to time"}}
}

func (a *attachment) acceptance() {
	current := a.current(a.status)
	began := a.up.began()
	var each []float64
	for i, sent := range a.up.sent {
		at, ok := current[attachedName(i)]
		if !ok {
			each = append(each, math.Inf(1))
			continue
		}
		each = append(each, at.Sub(sent).Seconds())
	}
	limit := a.Values.Duration("limit").Seconds()
	a.Samples("route-status", "A route's status current, from its own write", each, stat.Options{Limit: limit})
	all := math.Inf(1)
	if last := a.allAccepted(a.status); !last.IsZero() {
		all = last.Sub(began).Seconds()
	}
	a.Metric("accepted", scenario.OneValue("Every route's status current, from the first write", all, limit).Lower())
}

// countSeries is the picture: what existed and what was counted, over time.
func (a *attachment) countSeries() {
	versions := a.counts.all()
	at := make(result.Numbers, len(versions))
	columns := []result.Column{{Name: "at", Title: "since the measurement began", Unit: "s", Values: at}}
	for i, l := range a.listeners {
		values := make(result.Numbers, len(versions))
		for j, v := range versions {
			at[j] = a.At(v.at)
			values[j] = float64(v.counts[i])
			if v.counts[i] < 0 {
				values[j] = math.NaN()
			}
		}
		columns = append(columns, result.Column{Name: l.Name, Title: "listener " + l.Name, Unit: "1", Values: values})
	}
	existing := a.existing()
	a.Result.Series = append(a.Result.Series,
		result.Series{Name: "counts", Title: "Every version of attachedRoutes", Columns: columns},
		result.Series{Name: "existing", Title: "Routes that existed, as the API answered", Columns: []result.Column{
			{Name: "at", Title: "since the measurement began", Unit: "s", Values: existing.at},
			{Name: "routes", Title: "routes", Unit: "1", Values: existing.count},
		}})
	figure := result.Figure{
		Name: "counts", Title: "attachedRoutes over time",
		Caption: "How many routes existed, and how many the Gateway's status counted on each listener. The distance to the right is the delay; a count above the first line is wrong.",
		Kind:    "step", XTitle: "since the measurement began", XUnit: "s", YTitle: "routes",
		Lines:  []result.Line{{Title: "existing", Series: "existing", X: "at", Y: "routes"}},
		Events: []string{"creating", "deleting", "last answered"},
	}
	for _, l := range a.listeners {
		figure.Lines = append(figure.Lines, result.Line{Title: "counted on " + l.Name, Series: "counts", X: "at", Y: l.Name})
	}
	a.Result.Figures = append(a.Result.Figures, figure)
}

type steps struct{ at, count result.Numbers }

// existing is how many routes there were, stepping as each write was answered.
func (a *attachment) existing() steps {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, at := range a.up.answered {
		changes = append(changes, change{at, 1})
	}
	for _, s := range a.singles {
		by := -1
		if s.more {
			by = 1
		}
		changes = append(changes, change{s.answered, by})
	}
	for _, at := range a.down.answered {
		changes = append(changes, change{at, -1})
	}
	slices.SortStableFunc(changes, func(x, y change) int { return x.at.Compare(y.at) })
	var s steps
	n := 0
	for _, c := range changes {
		n += c.by
		s.at = append(s.at, a.At(c.at))
		s.count = append(s.count, float64(n))
	}
	return s
}

func (a *attachment) instantsTable() {
	row := func(name string, at func(*phase) time.Time) []string {
		cells := []string{name}
		for _, p := range []*phase{&a.up, &a.down} {
			cell := "never"
			if t := at(p); !t.IsZero() && t.Before(p.began()) {
				cell = "before the first write"
			} else if !t.IsZero() {
				cell = fmt.Sprintf("%.3f s", t.Sub(p.began()).Seconds())
			}
			cells = append(cells, cell)
		}
		return cells
	}
	table := result.Table{Name: "instants", Title: "Instants, from the first write of each direction", Columns: []string{"instant", "up", "down"}}
	table.Rows = append(table.Rows, row("last write answered", (*phase).lastAnswered))
	for i, l := range a.listeners {
		table.Rows = append(table.Rows, row("listener "+l.Name+" counts right for good", func(p *phase) time.Time { return p.reached[i] }))
	}
	a.Result.Tables = append(a.Result.Tables, table)
}

func (a *attachment) findCounts(name string, p *phase) {
	var lines []string
	for i, l := range a.listeners {
		if p.reached[i].IsZero() {
			lines = append(lines, fmt.Sprintf("listener %s: the count was %s at the end, want %d", l.Name, a.countAt(i, p), p.want))
		}
	}
	if len(lines) == 0 {
		return
	}
	text := fmt.Sprintf("%s after all %d routes were created, %d of %d listeners did not count them right (%s)",
		a.Values.Duration("limit"), len(p.sent), len(lines), len(a.listeners), lines[0])
	if name == "teardown" {
		text = fmt.Sprintf("%s after the last of %d routes was deleted, %d of %d listeners still counted some (%s)",
			a.Values.Duration("limit"), len(p.sent), len(lines), len(a.listeners), lines[0])
	}
	a.Find("wrong-count-after-"+name, result.Broken, text, result.Evidence{Name: "counts", Text: strings.Join(lines, "\n")})
}

// countAt is what listener i showed last in a phase.
func (a *attachment) countAt(i int, p *phase) string {
	end := time.Now()
	if p == &a.up {
		end = a.shrinks()
	}
	shown := "absent"
	for _, v := range a.counts.all() {
		if v.at.Before(end) && v.counts[i] >= 0 {
			shown = fmt.Sprint(v.counts[i])
		}
	}
	return shown
}

// findOvercount looks for counts that no order of events can explain: more
// than had been asked for when the status arrived, or, while routes were only
// created, fewer than before.
func (a *attachment) findOvercount() {
	var over, back []string
	previous := make([]int, len(a.listeners))
	downAt := a.shrinks()
	for _, v := range a.counts.all() {
		possible := a.possible(v.at)
		for i, count := range v.counts {
			l := a.listeners[i].Name
			if count > possible {
				over = append(over, fmt.Sprintf("%.3f s: listener %s counts %d, at most %d existed", a.At(v.at), l, count, possible))
			}
			if count >= 0 && count < previous[i] && v.at.Before(downAt) {
				back = append(back, fmt.Sprintf("%.3f s: listener %s went from %d to %d", a.At(v.at), l, previous[i], count))
			}
			previous[i] = count
		}
	}
	if len(over) > 0 {
		a.Find("overcount", result.Broken, fmt.Sprintf("%d times attachedRoutes counted more routes than there were", len(over)),
			result.Evidence{Name: "versions of the status", Text: scenario.Excerpt(over)})
	}
	if len(back) > 0 {
		a.Find("count-went-back", result.Notable, fmt.Sprintf("%d times attachedRoutes went down while routes were only created", len(back)),
			result.Evidence{Name: "versions of the status", Text: scenario.Excerpt(back)})
	}
}

// staleGrace is how old a status may be when it arrives: a count that was
// right this long ago is late, not wrong.
const staleGrace = 2 * time.Second

// possible is the largest number of routes that a truthful status could count:
// the most that existed in the time shortly before it arrived.
func (a *attachment) possible(at time.Time) int {
	created, deleted := 0, 0
	for _, sent := range a.up.sent {
		if !sent.After(at) {
			created++
		}
	}
	for _, answered := range a.down.answered {
		if answered.Before(at.Add(-a.lag())) {
			deleted++
		}
	}
	for _, s := range a.singles {
		if s.more && !s.sent.After(at) {
			created++
		}
		if !s.more && s.answered.Before(at.Add(-a.lag())) {
			deleted++
		}
	}
	return created - deleted
}

// shrinks is when the first route was deleted.
func (a *attachment) shrinks() time.Time {
	for _, s := range a.singles {
		if !s.more {
			return s.sent
		}
	}
	return a.down.began()
}

// lag is how far a count may trail what exists before it is called wrong: a
// slow count going down is measured as teardown, not accused twice.
func (a *attachment) lag() time.Duration {
	if done := a.down.complete(); !done.IsZero() {
		return max(staleGrace, done.Sub(a.down.began()))
	}
	return a.Values.Duration("limit")
}

func (a *attachment) findUntruth() {
	if a.swept.Right == a.swept.Asked {
		return
	}
	when := "when the status counted every route"
	if a.up.complete().IsZero() {
		when = "when the limit for counting every route was over"
	}
	a.Find("not-served", result.Broken,
		fmt.Sprintf("%s, %d of %d requests, one for each route, listener and replica, were not answered by their route (%s)",
			when, a.swept.Asked-a.swept.Right, a.swept.Asked, strings.Join(a.swept.Words(), ", ")),
		result.Evidence{Name: "first wrong answers", Text: strings.Join(a.swept.Examples, "\n")})
}
