package routepropagation

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

// changeMetrics are change-KIND and further names that begin so, for each kind
// but new routes.
func (p *propagation) changeMetrics() {
	limit := stat.Options{Limit: p.Values.Duration("limit").Seconds()}
	for _, k := range changeKinds[1:] {
		made := p.of(k.name)
		if len(made) == 0 {
			continue
		}
		name, both := "change-"+k.name, p.options().Connections
		title := strings.ToUpper(k.plural[:1]) + k.plural[1:]
		p.Samples(name, title+": in force for good on every replica",
			each(made, func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(both)) }), limit)
		p.setResolution(name)
		if !made[0].silent {
			p.Samples(name+"-status", title+": status current", each(made, (*propagated).statusSeconds), limit)
		}
		total := sum(made)
		failed := result.Count(title+": answers that were right neither before nor after", total.ErrorCount()).Lower()
		failed.N = total.Sent
		p.Metric(name+"-errors", failed)
	}
}

func each(changes []*propagated, of func(*propagated) float64) []float64 {
	var all []float64
	for _, r := range changes {
		all = append(all, of(r))
	}
	return all
}

// sum counts the answers between the writes and service for good.
func sum(changes []*propagated) probe.Counts {
	var total probe.Counts
	for _, r := range changes {
		c := r.errors()
		total.Add(&c)
	}
	return total
}

// wrongAnswers lists the errors of changes by class; answers with a wrong status
// by that status.
func wrongAnswers(changes []*propagated) string {
	counts := map[string]int{}
	for _, r := range changes {
		c, q := r.errors(), r.outcome.Question
		for class, n := range c.Errors {
			if class < load.Status3xx || class > load.StatusOther {
				counts[class.String()] += n
			}
		}
		for status, n := range c.Status {
			if status != q.Old.Status && status != q.New.Status {
				counts[fmt.Sprintf("status %d", status)] += n
			}
		}
	}
	return strings.Join(scenario.Tally(counts, "%d× %s"), ", ")
}

func inForce(changes []*propagated) int {
	n := 0
	for _, r := range changes {
		if len(r.outcome.Censored()) == 0 {
			n++
		}
	}
	return n
}

// changeFigures draw how soon changes of each kind are in force, and how their
// status keeps to the truth.
func (p *propagation) changeFigures() {
	soon := result.Figure{
		Name: "change-shares", Title: "Share of changes in force within a time, by kind",
		Caption: "How long after its write was sent a change was in force for good on every replica.",
		Kind:    "ecdf", XTitle: "since the write was sent", XUnit: "s", YTitle: "share of changes", LogX: true,
		Lines: []result.Line{{Title: kindCreate, Series: "routes", X: "stable"}},
	}
	truth := result.Figure{
		Name: "status-truth", Title: "Status, held against traffic",
		Caption: "How long after the status was current a change was in force for good on every replica. Right of zero the status said so too early, left of it traffic was right first.",
		Kind:    "ecdf", XTitle: "in force, after status was current", XUnit: "s", YTitle: "share of changes",
		Lines: []result.Line{{Title: kindCreate, Series: "routes", X: "lead"}},
	}
	for _, k := range changeKinds[1:] {
		made := p.of(k.name)
		if len(made) == 0 {
			continue
		}
		soon.Lines = append(soon.Lines, result.Line{Title: k.name, Series: "change-" + k.name, X: "stable"})
		if !made[0].silent {
			truth.Lines = append(truth.Lines, result.Line{Title: k.name, Series: "change-" + k.name, X: "lead"})
		}
	}
	if len(soon.Lines) > 1 {
		p.Result.Figures = append(p.Result.Figures, soon)
	}
	p.Result.Figures = append(p.Result.Figures, truth)
}

// changesTable has a row for each kind, where there is more than one.
func (p *propagation) changesTable() {
	if len(p.changes) == 0 {
		return
	}
	table := result.Table{Name: "changes", Title: "Kinds of change", Columns: []string{"kind", "made", "in force", "in force everywhere (median)", "slowest",
		"status current (median)", "in force after status was current: least", "median", "most", "errors", "old answers after new ones"}}
	both := p.options().Connections
	for _, k := range changeKinds {
		made := p.of(k.name)
		if len(made) == 0 {
			continue
		}
		stable := middle(each(made, func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(both)) }))
		row := []string{k.name, strconv.Itoa(len(made)), strconv.Itoa(inForce(made)), scenario.Seconds(stable.median), scenario.Seconds(stable.most)}
		if made[0].silent {
			row = append(row, "", "", "", "")
		} else {
			lead := middle(finite(each(made, func(r *propagated) float64 { return r.lead(both) })))
			row = append(row, scenario.Seconds(middle(each(made, (*propagated).statusSeconds)).median), scenario.Seconds(lead.least), scenario.Seconds(lead.median), scenario.Seconds(lead.most))
		}
		total, flaps := sum(made), 0
		for _, r := range made {
			flaps += r.flaps()
		}
		failed := "0"
		if total.ErrorCount() > 0 {
			failed = wrongAnswers(made)
		}
		table.Rows = append(table.Rows, append(row, failed, strconv.Itoa(flaps)))
	}
	p.Result.Tables = append(p.Result.Tables, table)
}

// spread is the least, the median and the most of some values, of which those
// that were not seen are infinite. Of no values it is NaN.
type spread struct{ least, median, most float64 }

func middle(values []float64) spread {
	if len(values) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	all := slices.Sorted(slices.Values(values))
	return spread{all[0], all[len(all)/2], all[len(all)-1]}
}

// shapesTable has a row for each shape, where there are several.
func (p *propagation) shapesTable() {
	used := p.Values.List("shapes", shapeNames(p.route()))
	if len(used) == 1 {
		return
	}
	both := p.options().Connections
	table := result.Table{Name: "shapes", Title: "What routes match by", Columns: []string{"matched by", "routes", "served", "served for good everywhere (median)", "slowest", "errors"}}
	for _, name := range used {
		made := p.shaped(name)
		if len(made) == 0 {
			continue
		}
		stable := middle(each(made, func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(both)) }))
		total := sum(made)
		table.Rows = append(table.Rows, []string{name, strconv.Itoa(len(made)), strconv.Itoa(inForce(made)),
			scenario.Seconds(stable.median), scenario.Seconds(stable.most), fmt.Sprint(total.ErrorCount())})
	}
	p.Result.Tables = append(p.Result.Tables, table)
}

// shaped are the new routes of a shape.
func (p *propagation) shaped(name string) []*propagated {
	return slices.DeleteFunc(rows(p.routes), func(r *propagated) bool { return r.shape != name })
}
