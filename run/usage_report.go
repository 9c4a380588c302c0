package run

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/measure/scrape"
	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/result"
)

// A gap in the samples leaves windows exact and makes peaks and pictures coarse.
// So many intervals may pass without one, and so much time in any case: a
// virtual machine's host may stop it for longer than an interval of 100 ms.
const (
	sampleGaps = 5
	sampleGap  = 2 * time.Second
)

// reportUse adds what was used to the trial.
func (c *consumption) reportUse(w *usage.Window) {
	t := c.trial
	t.Gate("resource-samples", fmt.Sprintf("longest time without a sample of resource use, on node %s", w.GapNode), "s",
		w.Gap.Seconds(), max(sampleGap, sampleGaps*w.Interval).Seconds())
	names := rolesOf(w)
	for _, name := range names {
		c.metrics(name, w.Uses[name])
	}
	for _, node := range slices.Sorted(maps.Keys(w.Faults)) {
		t.Note("Reading resource use on node %s: %s.", node, w.Faults[node])
	}
	if c.kubelets {
		t.Note("Pods may not read their node's folders here, so that resource use comes from the kubelets' own statistics: read every 10 to 15 s, stamped in whole seconds by each node's clock, without throttling, and without what pods used after their last reading. Shares of windows that are not much longer than that are rough.")
	}
	t.Result.Tables = append(t.Result.Tables, memberTable(w))
	c.perChange(w)
	c.findBystanders(w)
	c.pictures(w, names)
}

// perChange divides the planes' CPU time by the changes that the scenario made
// one after another. It is all that they used meanwhile: probes have their part
// in it, in the data plane's most of all.
func (c *consumption) perChange(w *usage.Window) {
	n := len(c.trial.Changes())
	for _, role := range []string{controlPlane, dataPlane} {
		if u, ok := w.Uses[role]; ok && n > 0 && !math.IsNaN(u.CPU) {
			c.trial.Metric("cpu-per-change-"+role, result.Value("CPU time used for each change, "+words(role), "s", u.CPU/float64(n)).Lower())
		}
	}
}

// rolesOf lists the roles that anything had, in the order in which a reader
// looks for them.
func rolesOf(w *usage.Window) []string {
	names := []string{controlPlane, dataPlane}
	for _, name := range slices.Sorted(maps.Keys(w.Uses)) {
		if strings.HasPrefix(name, "other-") {
			names = append(names, name)
		}
	}
	names = append(names, kubernetes, ours, usage.Rest)
	return slices.DeleteFunc(names, func(name string) bool { _, ok := w.Uses[name]; return !ok })
}

// words is how a role is called.
func words(role string) string {
	switch role {
	case controlPlane:
		return "control plane"
	case dataPlane:
		return "data plane"
	case kubernetes:
		return "Kubernetes"
	case usage.Rest:
		return "rest of the nodes"
	}
	return strings.ReplaceAll(role, "-", " ")
}

// metrics are NAME-ROLE. What nobody knows is absent.
func (c *consumption) metrics(role string, u usage.Use) {
	of := words(role)
	put := func(name, title, unit string, v float64) {
		if math.IsNaN(v) {
			return
		}
		if unit == "B" {
			v = math.Round(v) // edges lie between two readings
		}
		m := result.Value(title+", "+of, unit, v)
		if role != ours && role != usage.Rest {
			m = m.Lower()
		}
		c.trial.Metric(name+"-"+role, m)
	}
	put("cpu", "CPU time used", "s", u.CPU)
	put("memory-begin", "working set at the beginning", "B", u.Begin)
	put("memory-end", "working set at the end", "B", u.End)
	put("memory-peak", "largest working set", "B", u.Peak)
	put("network-in", "bytes received", "B", u.In)
	put("network-out", "bytes sent", "B", u.Out)
	put("throttled", "time kept from running by CPU limits", "s", u.Throttled)
	put("stalled", "time in which something waited for a CPU", "s", u.Stalled)
	if u.Guess > 0.01*u.CPU {
		c.trial.Note("Of the CPU time of the %s, %.3f s belong to containers that ended together with others: how it divides between them is a guess.", of, u.Guess)
	}
}

// memberTable has a row for each pod and component with a role.
func memberTable(w *usage.Window) result.Table {
	table := result.Table{Name: "usage", Title: "Use of resources, one by one",
		Columns: []string{"role", "what", "node", "CPU s", "memory at begin, MiB", "at end", "peak", "received, MiB", "sent, MiB", "throttled s"}}
	for _, m := range w.Each {
		table.Rows = append(table.Rows, []string{words(m.Role), m.Member.String(), m.Node,
			number("%.3f", m.CPU), mebibytes(m.Begin), mebibytes(m.End), mebibytes(m.Peak), mebibytes(m.In), mebibytes(m.Out), number("%.3f", m.Throttled)})
	}
	return table
}

func mebibytes(v float64) string { return number("%.1f", v/(1<<20)) }

func number(format string, v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// pictures show CPU, as cores, and memory over time.
func (c *consumption) pictures(w *usage.Window, names []string) {
	series := result.Series{Name: "usage", Title: "use of resources over time", Columns: []result.Column{{Name: "at", Title: "since the measurement began", Unit: "s", Values: w.At}}}
	cpu := result.Figure{Name: "usage-cpu", Title: "CPU", Kind: "step", Caption: "How many CPUs were busy for each, on average since the sample before.",
		XTitle: "since the measurement began", XUnit: "s", YTitle: "CPUs", Events: c.trial.Phases()}
	memory := result.Figure{Name: "usage-memory", Title: "Memory", Kind: "line", Caption: "Working sets, as the kubelet defines them.",
		XTitle: "since the measurement began", XUnit: "s", YTitle: "working set", YUnit: "B", Events: c.trial.Phases()}
	for _, name := range names {
		series.Columns = append(series.Columns,
			result.Column{Name: "cpu-" + name, Title: "CPUs of the " + words(name), Unit: "1", Values: rates(w.At, w.CPU[name])},
			result.Column{Name: "memory-" + name, Title: "working set of the " + words(name), Unit: "B", Values: w.Memory[name]})
		cpu.Lines = append(cpu.Lines, result.Line{Title: words(name), Series: "usage", X: "at", Y: "cpu-" + name})
		memory.Lines = append(memory.Lines, result.Line{Title: words(name), Series: "usage", X: "at", Y: "memory-" + name})
	}
	if changes := c.trial.Changes(); len(changes) > 0 {
		series.Columns = append(series.Columns, result.Column{Name: "changes", Title: "changes made", Unit: "1", Values: made(changes, w.At)})
		c.trial.Result.Figures = append(c.trial.Result.Figures, overChanges(cpu), overChanges(memory))
	}
	c.trial.Result.Series = append(c.trial.Result.Series, series)
	c.trial.Result.Figures = append(c.trial.Result.Figures, cpu, memory)
}

// made is how many of the changes had been made at each instant.
func made(changes, at []float64) result.Numbers {
	all := make(result.Numbers, len(at))
	for i, t := range at {
		n, _ := slices.BinarySearch(changes, t)
		all[i] = float64(n)
	}
	return all
}

// overChanges draws the planes' part of a picture over the number of changes:
// below one of how long each took it shows what they cost.
func overChanges(f result.Figure) result.Figure {
	f.Name, f.Title, f.Kind = f.Name+"-changes", f.Title+", over the number of changes", "line"
	f.XTitle, f.XUnit, f.Events = "changes made", "", nil
	f.Lines = slices.DeleteFunc(slices.Clone(f.Lines), func(l result.Line) bool {
		return l.Title != words(controlPlane) && l.Title != words(dataPlane)
	})
	for i := range f.Lines {
		f.Lines[i].X = "changes"
	}
	return f
}

// rates are differences over time, which the first instant lacks.
func rates(at, total []float64) result.Numbers {
	all := make(result.Numbers, len(at))
	for i := range at {
		all[i] = math.NaN()
		if i > 0 && at[i] > at[i-1] {
			all[i] = (total[i] - total[i-1]) / (at[i] - at[i-1])
		}
	}
	return all
}

// reportScrapes adds what the planes' own metrics said to the trial.
func (c *consumption) reportScrapes(scrapes []scrape.Scrape, from, to time.Time) {
	t := c.trial
	for _, target := range c.targets() {
		sum, points := scrape.Summarize(scrapes, target.Role, from, to)
		of := words(target.Role)
		put := func(name, title, unit string, v float64) {
			if !math.IsNaN(v) {
				t.Metric(name+"-"+target.Role, result.Value(title+", "+of, unit, v).Lower())
			}
		}
		put("series-begin", "metric series given out at the beginning", "1", sum.SeriesBegin)
		put("series-end", "metric series given out at the end", "1", sum.SeriesEnd)
		put("series-peak", "most metric series given out", "1", sum.SeriesPeak)
		put("heap-peak", "largest Go heap", "B", sum.HeapPeak)
		put("gc-cycles", "cycles of the garbage collector", "1", sum.GC)
		put("allocations", "allocations a second", "1/s", sum.Allocations/to.Sub(from).Seconds())
		put("pushes", "configurations sent to proxies", "1", sum.Pushes)
		if sum.Failed > 0 {
			t.Note("%d of %d scrapes of the %s failed: %v.", sum.Failed, sum.Scrapes, of, sum.Err)
		}
		if good := sum.Scrapes - sum.Failed; good > 0 {
			t.Note("The metrics of the %s were scraped %d times; a scrape of one pod brought %.0f kB and took %v on average. That work is in its CPU time.",
				of, good, sum.Bytes/1000, sum.Took.Round(100*time.Microsecond))
			t.Result.Series = append(t.Result.Series, scrapeSeries(target.Role, from, points))
		}
	}
}

func scrapeSeries(role string, from time.Time, points []scrape.Point) result.Series {
	at, series, heap := result.Numbers{}, result.Numbers{}, result.Numbers{}
	for _, p := range points {
		at, series, heap = append(at, p.At.Sub(from).Seconds()), append(series, p.Series), append(heap, p.Heap)
	}
	return result.Series{Name: "metrics-" + role, Title: "what the metrics of the " + words(role) + " said", Columns: []result.Column{
		{Name: "at", Title: "since the measurement began", Unit: "s", Values: at},
		{Name: "series", Title: "metric series", Unit: "1", Values: series},
		{Name: "heap", Title: "Go heap", Unit: "B", Values: heap},
	}}
}
