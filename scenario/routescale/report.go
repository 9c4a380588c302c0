package routescale

import (
	"fmt"
	"math"
	"strings"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

// report turns what was seen into metrics, tables, series, figures and findings.
func (s *scaling) report() {
	s.measure()
	s.countMetrics()
	s.timeMetrics()
	s.costMetrics()
	s.memoryMetrics()
	s.Result.Tables = append(s.Result.Tables, s.phaseTable(), s.sweepTable())
	s.pictures()
	s.findings()
	s.Note("Services have EndpointSlices that gatemark writes; all of them lead to the same %d pods of the backend.", backends)
	if s.unready != "" {
		s.Note("ListenerSets were not all ready in time: %s.", s.unready)
	}
	if c := &s.churned; c.done > 0 && c.rate() < 0.95*c.asked {
		s.Note("%.3g changes a second were asked for, and %.3g were made: the API server, or the runner, takes no more.", c.asked, c.rate())
	}
	if s.Meter == nil {
		s.Note("Use of resources was not observed: what the routes cost is not known.")
	}
}

// full is the sweep with all routes there: the last one before they change.
func (s *scaling) full() *sweep {
	for _, w := range s.sweeps {
		if w.when == "with all routes" {
			return w
		}
	}
	return s.sweeps[0]
}

func (s *scaling) countMetrics() {
	full := s.full()
	served := result.Count(fmt.Sprintf("Routes that every replica answered rightly, of %d", full.routes), full.served())
	served.N = full.routes
	s.Metric("routes-served", served.Higher())
	accepted := 0
	for _, p := range s.steps {
		accepted += p.size - p.first - p.unaccepted
	}
	s.Metric("routes-accepted", result.Count("Routes whose status became current in time while they were created", accepted).Higher())
	s.Metric("create-rate", result.Value("Objects created a second, while they were", "1/s", float64(s.written.Load())/s.writing.Seconds()))
	if s.ceiling.is() {
		s.Metric("ceiling", result.Count("Routes that were served when no more came into force", s.ceiling.routes).Higher())
	}
	if s.churned.done > 0 {
		s.Metric("change-rate", result.Value("Changes made a second", "1/s", s.churned.rate()))
		s.Metric("changes", result.Count("Changes made at a constant rate", s.churned.done))
	}
	s.Metric("status-versions", result.Count("Versions of routes that were seen, their statuses' among them", s.status.Versions()))
}

func (s *scaling) limit() float64 { return s.Values.Duration("limit").Seconds() }

func (s *scaling) timeMetrics() {
	o := stat.Options{Limit: s.limit()}
	var accepted, served []float64
	for _, p := range s.steps {
		accepted, served = append(accepted, p.late(p.accepted.IsZero(), p.accepted.Sub(p.answered).Seconds())), append(served, p.late(p.served.IsZero(), p.served.Sub(p.answered).Seconds()))
	}
	s.Samples("step-accepted", "From the last write of a step until all its routes were accepted", accepted, o)
	s.Samples("step-served", "From the last write of a step until every replica served all its routes", served, o)
	for _, one := range []struct{ name, when string }{{"single-few", withFew}, {"single-all", withAll}, {"single-changing", whileChanging}} {
		if took := s.took(one.when); len(took) > 0 {
			s.Samples(one.name, "A single change in force on every replica, "+one.when, took, o)
		}
	}
	if len(s.ready) > 0 {
		s.Samples("sets-ready", "From the last write of new ListenerSets until all were programmed", s.ready, o)
	}
	put := func(name, title string, v float64) { s.Metric(name, scenario.OneValue(title, v, s.limit()).Lower()) }
	if s.churned.done > 0 {
		put("changes-settled", "From the last change until every route was as it was to be", s.churned.settled)
	}
	for _, a := range s.again {
		if a.plane == scenario.ControlPlaneRole {
			put("control-restart-ready", "Restart of the control plane, until its pods were ready", a.ready)
			put("control-restart-change", "Restart of the control plane, until a change made at once was in force", a.complete)
			continue
		}
		put("data-restart-ready", "Restart of the data plane, until its new pods were given users", a.ready)
		put("data-restart-complete", "Restart of the data plane, until its new pods served every route", a.complete)
		early := result.Count(fmt.Sprintf("Wrong answers of %d new pods that were given users already", a.replicas), scenario.Total(a.early))
		early.N = a.asked
		s.Metric("early-answers", early.Lower())
	}
	put("deletion", "From the last deletion until no replica served a route", s.deleted.gone)
}

// late is a time, 0 at least: a step may be done when its last write is
// answered. Of what did not come it is +Inf.
func (p *step) late(never bool, seconds float64) float64 {
	if never {
		return math.Inf(1)
	}
	return max(0, seconds)
}

// costs are those whose CPU time is divided by routes and changes.
func (s *scaling) costs() []string {
	all := append([]string{}, planes...)
	all = append(all, scenario.KubernetesRole)
	return append(all, "kube-apiserver", "etcd")
}

func (p *phase) used(who string) float64 {
	if who == "kube-apiserver" || who == "etcd" {
		return p.component(who)
	}
	return p.cpu(who)
}

// costMetrics are CPU times of each route and change. What is used at rest is
// taken off what changes cost.
func (s *scaling) costMetrics() {
	put := func(name, title, unit string, v float64) {
		if !math.IsNaN(v) {
			s.Metric(name, result.Value(title, unit, v).Lower())
		}
	}
	grown, rest, changed := s.of(growing), s.of(atRestFull), s.of(changing)
	for _, who := range s.costs() {
		of := strings.ReplaceAll(who, "-", " ")
		put("create-cpu-"+who, "CPU time for each route while they were created, "+of, "s", grown.used(who)/float64(max(1, grown.routes)))
		put("rest-cpu-"+who, "CPUs in use at rest with all routes, "+of, "1", rest.used(who)/rest.seconds())
		if changed != nil && changed.changes > 0 {
			net := changed.used(who) - rest.used(who)/rest.seconds()*changed.seconds()
			put("change-cpu-"+who, "CPU time for each change, "+of, "s", max(0, net)/float64(changed.changes))
		}
	}
}

func (s *scaling) memoryMetrics() {
	for _, role := range planes {
		put := func(name, title string, v float64) {
			if !math.IsNaN(v) {
				s.Metric(name+"-"+role, result.Value(title+", "+words(role), "B", v).Lower())
			}
		}
		put("memory-before", "Working set at rest without routes", s.of(atRestBefore).memory(role))
		put("memory-full", "Working set at rest with all routes", s.of(atRestFull).memory(role))
		put("memory-changed", "Working set at rest after the changes", s.of(atRestChanged).memory(role))
		put("memory-deleted", "Working set at rest after the deletion", s.of(atRestDeleted).memory(role))
		s.slope("bytes-per-route-"+role, "Memory for each route, "+words(role), "B", s.perRoute(role))
		if l := s.leakIn(role); l.tells() {
			s.slope("growth-"+role, "Growth of memory while the same routes were changed, "+words(role), "B/s", l.whole)
		}
	}
}

// slope is a metric of a trend, with its bounds where they are known.
func (s *scaling) slope(name, title, unit string, t stat.Trend) {
	if math.IsNaN(t.Slope.Center) {
		return
	}
	m := result.Value(title, unit, t.Slope.Center)
	m.N, m.Warnings = t.N, stat.Sentences(t.Warnings)
	if lo, hi := t.Slope.Lo, t.Slope.Hi; !math.IsNaN(lo) && !math.IsInf(lo, 0) && !math.IsInf(hi, 0) {
		m.Lo, m.Hi, m.Confidence = &lo, &hi, t.Slope.Confidence
	}
	s.Metric(name, m.Lower())
}

// phaseTable answers what each part cost whom.
func (s *scaling) phaseTable() result.Table {
	t := result.Table{Name: "parts", Title: "What each part cost, in CPU seconds and MiB", Columns: []string{
		"part", "seconds", "routes", "changes", "control plane", "data plane", "Kubernetes", "API server", "etcd", "other implementations", "control plane, MiB", "data plane, MiB",
	}}
	for _, p := range s.phases {
		row := []string{p.name, fmt.Sprintf("%.1f", p.seconds()), fmt.Sprint(p.routes), fmt.Sprint(p.changes)}
		for _, who := range s.costs() {
			row = append(row, number("%.2f", p.used(who)))
		}
		row = append(row, number("%.2f", p.others()))
		for _, role := range planes {
			row = append(row, number("%.1f", p.memory(role)/(1<<20)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// others is the CPU time of other implementations, NaN where there are none.
func (p *phase) others() float64 {
	total := math.NaN()
	if p.window == nil {
		return total
	}
	for role, u := range p.window.Uses {
		if strings.HasPrefix(role, "other-") && !math.IsNaN(u.CPU) {
			if math.IsNaN(total) {
				total = 0
			}
			total += u.CPU
		}
	}
	return total
}

func number(format string, v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// sweepTable answers whether the routes are served at all.
func (s *scaling) sweepTable() result.Table {
	t := result.Table{Name: "sweeps", Title: "Every route asked on every replica", Columns: []string{"when", "routes", "asked", "right", "status 404", "status 503", "other", "what else"}}
	for _, w := range s.sweeps {
		other := w.Asked - w.Right - w.Wrong["status 404"] - w.Wrong["status 503"]
		var what []string
		for _, line := range w.Words() {
			if !strings.HasSuffix(line, "status 404") && !strings.HasSuffix(line, "status 503") {
				what = append(what, line)
			}
		}
		t.Rows = append(t.Rows, []string{w.when, fmt.Sprint(w.routes), fmt.Sprint(w.Asked), fmt.Sprint(w.Right),
			fmt.Sprint(w.Wrong["status 404"]), fmt.Sprint(w.Wrong["status 503"]), fmt.Sprint(other), strings.Join(what, ", ")})
	}
	return t
}
