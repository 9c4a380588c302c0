package routescale

import (
	"math"

	"github.com/gatemark/gatemark/result"
)

// pictures are how long steps took and what memory they left over the number of
// routes, and which routes were served.
func (s *scaling) pictures() {
	s.stepPictures()
	s.sweepPicture()
	if len(s.singles) > 0 {
		var when []string
		var routes, took result.Numbers
		for _, one := range s.singles {
			when, routes, took = append(when, one.when), append(routes, float64(one.routes)), append(took, one.took)
		}
		s.Result.Series = append(s.Result.Series, result.Series{Name: "singles", Title: "Single changes", Columns: []result.Column{
			{Name: "when", Labels: when}, {Name: "routes", Unit: "1", Values: routes}, {Name: "took", Title: "until every replica served it", Unit: "s", Values: took},
		}})
	}
}

func (s *scaling) stepPictures() {
	var size, written, accepted, served result.Numbers
	held := map[string]result.Numbers{}
	for _, p := range s.steps {
		size = append(size, float64(p.size))
		written = append(written, p.answered.Sub(p.sent).Seconds())
		accepted = append(accepted, p.late(p.accepted.IsZero(), p.accepted.Sub(p.answered).Seconds()))
		served = append(served, p.late(p.served.IsZero(), p.served.Sub(p.answered).Seconds()))
		for _, role := range planes {
			held[role] = append(held[role], memory(p.window, role))
		}
	}
	series := result.Series{Name: "steps", Title: "One row for each step", Columns: []result.Column{
		{Name: "routes", Title: "routes there after the step", Unit: "1", Values: size},
		{Name: "written", Title: "first write sent to last answered", Unit: "s", Values: written},
		{Name: "accepted", Title: "last answered until all accepted", Unit: "s", Values: accepted},
		{Name: "served", Title: "last answered until all served", Unit: "s", Values: served},
	}}
	grown := result.Figure{Name: "growth", Title: "How long a step takes, over the number of routes", Kind: "line",
		Caption: "From the answer to the last write of a step until all its routes were accepted, and until every replica served them. Where a point is missing, that did not happen in time.",
		XTitle:  "routes", YTitle: "after the last write", YUnit: "s", Lines: []result.Line{
			{Title: "accepted", Series: "steps", X: "routes", Y: "accepted"}, {Title: "served", Series: "steps", X: "routes", Y: "served"},
		}}
	bytes := result.Figure{Name: "memory-over-routes", Title: "Memory over the number of routes", Kind: "line",
		Caption: "The median working set in the pause after each step. The slope is what a route takes.",
		XTitle:  "routes", YTitle: "working set", YUnit: "B"}
	for _, role := range planes {
		series.Columns = append(series.Columns, result.Column{Name: "memory-" + role, Title: "working set of the " + words(role), Unit: "B", Values: held[role]})
		if known(held[role]) {
			bytes.Lines = append(bytes.Lines, result.Line{Title: words(role), Series: "steps", X: "routes", Y: "memory-" + role})
		}
	}
	s.Result.Series = append(s.Result.Series, series)
	s.Result.Figures = append(s.Result.Figures, grown)
	if len(bytes.Lines) > 0 {
		s.Result.Figures = append(s.Result.Figures, bytes)
	}
}

func known(all result.Numbers) bool {
	for _, v := range all {
		if !math.IsNaN(v) {
			return true
		}
	}
	return false
}

// sweepBins is how finely the picture of the sweeps divides the routes.
const sweepBins = 100

// sweepPicture shows which routes were served: a gateway that ignores some, or
// stops at a number of them, looks cheap.
func (s *scaling) sweepPicture() {
	n := len(s.routes)
	bins := min(n, sweepBins)
	series := result.Series{Name: "sweeps", Title: "Share of the routes that every replica answered rightly, in the order of their creation", Columns: []result.Column{{Name: "route", Title: "the first of so many", Unit: "1"}}}
	figure := result.Figure{Name: "sweeps", Title: "Which routes are served", Kind: "step", XTitle: "route, in the order of creation", YTitle: "share answered rightly",
		Caption: "Each route was asked once on every replica."}
	for b := range bins {
		series.Columns[0].Values = append(series.Columns[0].Values, float64(n*b/bins))
	}
	for i, w := range s.sweeps {
		column := result.Column{Name: "sweep-" + string(rune('a'+i%26)), Title: w.when, Unit: "ratio"}
		for b := range bins {
			column.Values = append(column.Values, w.share(s.routes[n*b/bins:n*(b+1)/bins]))
		}
		series.Columns = append(series.Columns, column)
		figure.Lines = append(figure.Lines, result.Line{Title: w.when, Series: "sweeps", X: "route", Y: column.Name})
	}
	s.Result.Series = append(s.Result.Series, series)
	s.Result.Figures = append(s.Result.Figures, figure)
}

// share is how many of these routes were right in a sweep, of those that were
// there.
func (w *sweep) share(routes []*route) float64 {
	there, right := 0, 0
	for _, r := range routes {
		if w.asked[r] {
			there++
			if !w.bad[r] {
				right++
			}
		}
	}
	if there == 0 {
		return math.NaN()
	}
	return float64(right) / float64(there)
}
