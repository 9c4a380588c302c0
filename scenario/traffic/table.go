package traffic

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

func (t *traffic) tables() {
	t.Result.Tables = append(t.Result.Tables, t.summaryTable(), t.costTable(), t.rawTable())
	if doubts := t.doubts(); len(doubts.Rows) > 0 {
		t.Result.Tables = append(t.Result.Tables, doubts)
	}
}

// summaryTable has a row for each point.
func (t *traffic) summaryTable() result.Table {
	table := result.Table{Name: "traffic", Title: "Throughput and latency", Columns: []string{
		"Connections", "Payload, B", "Rate asked", "Answers/s", "Direct", "p50", "p90", "p99", "Direct p50", "Direct p99", "Errors", "Verdict",
	}}
	for _, p := range t.points {
		s, d := t.summarize(p, false), t.summarize(p, true)
		rate := unlimited
		if p.rate > 0 {
			rate = strconv.Itoa(p.rate)
		}
		l, dl := s.latency(), d.latency()
		table.Rows = append(table.Rows, []string{
			strconv.Itoa(p.connections), strconv.Itoa(p.payload), rate, perSecond(s.rate()), perSecond(d.rate()),
			quantile(l, p50), quantile(l, p90), quantile(l, p99), quantile(dl, p50), quantile(dl, p99),
			errorWords(s), string(s.verdict),
		})
	}
	return table
}

func p50(s *load.Summary) float64 { return s.P50 }
func p90(s *load.Summary) float64 { return s.P90 }
func p99(s *load.Summary) float64 { return s.P99 }

func quantile(s *load.Summary, of func(*load.Summary) float64) string {
	if s == nil {
		return "-"
	}
	return scenario.Seconds(of(s))
}

func perSecond(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// errorWords are counts of requests: a share would hide a few.
func errorWords(s *summary) string {
	errors := s.errors()
	if n := scenario.Total(errors); n > 0 {
		return fmt.Sprintf("%d of %d (%s)", n, s.counts.Requests(), strings.Join(scenario.Tally(errors, "%d× %s"), ", "))
	}
	return fmt.Sprintf("0 of %d", s.counts.Requests())
}

// costTable has what a million requests cost, by whom.
func (t *traffic) costTable() result.Table {
	table := result.Table{Name: "cost", Title: "CPU seconds for a million requests", Columns: []string{"Point", "Way"}}
	for _, c := range attack.Consumers {
		table.Columns = append(table.Columns, c.Title)
	}
	table.Columns = append(table.Columns, "data plane, CPUs", "all, CPUs", "data plane, MiB")
	for _, p := range t.points {
		for _, direct := range []bool{false, true} {
			s := t.summarize(p, direct)
			row := []string{p.String(), way(direct)}
			for _, c := range attack.Consumers {
				row = append(row, known("%.1f", s.cost(c.Of)))
			}
			table.Rows = append(table.Rows, append(row, known("%.2f", s.cores(attack.Use.Gateway)), known("%.2f", s.cores(func(u attack.Use) float64 { return u.All })),
				known("%.1f", s.median(func(one *seen) float64 { return one.Use.Memory })/(1<<20))))
		}
	}
	return table
}

func known(format string, v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// rawTable has a row for each measurement, in the order of the points, as a
// published benchmark prints it: a rate of 0 is as many as possible.
func (t *traffic) rawTable() result.Table {
	table := result.Table{Name: "raw", Title: "Raw data", Columns: []string{"DEST", "QPS", "CONS", "DUR", "PAYLOAD", "THROUGHPUT", "P50", "P90", "P99"}}
	milliseconds := func(s *load.Summary, of func(*load.Summary) float64) string {
		if s == nil {
			return "-"
		}
		return fmt.Sprintf("%.3fms", 1000*of(s))
	}
	duration := known("%g", t.Values.Duration("duration").Seconds())
	for _, p := range t.points {
		for _, direct := range []bool{false, true} {
			for _, one := range t.seen {
				if one.point != p || one.direct != direct {
					continue
				}
				dest, l := t.Target.Treatment, one.Result.Latency
				if direct {
					dest = "direct"
				}
				table.Rows = append(table.Rows, []string{dest, strconv.Itoa(p.rate), strconv.Itoa(p.connections), duration, strconv.Itoa(p.payload),
					fmt.Sprintf("%.2fqps", one.Result.AchievedRate), milliseconds(l, p50), milliseconds(l, p90), milliseconds(l, p99)})
			}
		}
	}
	return table
}

// doubts say why measurements are no evidence, or are of a queue.
func (t *traffic) doubts() result.Table {
	table := result.Table{Name: "verdicts", Title: "Measurements that are not plainly the gateway's", Columns: []string{"Point", "Way", "Round", "Verdict", "Why"}}
	for _, p := range t.points {
		for _, one := range t.seen {
			if one.point == p && one.Verdict != attack.Fine {
				table.Rows = append(table.Rows, []string{p.String(), way(one.direct), strconv.Itoa(one.round + 1), string(one.Verdict), strings.Join(one.Reasons, "; ")})
			}
		}
	}
	return table
}

// series has a row for each measurement, in the order in which they were made.
func (t *traffic) series() {
	var at, round, connections, rate, payload, achieved, requests, sent, received, accepted, failed, memory result.Numbers
	var ways, verdicts []string
	times := map[string]result.Numbers{}
	cpu := map[string]result.Numbers{}
	for _, one := range t.seen {
		at, round = append(at, one.At), append(round, float64(one.round+1))
		ways, verdicts = append(ways, way(one.direct)), append(verdicts, string(one.Verdict))
		connections, rate, payload = append(connections, float64(one.point.connections)), append(rate, float64(one.point.rate)), append(payload, float64(one.point.payload))
		achieved, requests = append(achieved, one.Result.AchievedRate), append(requests, float64(one.Result.Requests))
		sent, received, accepted = append(sent, float64(one.Sent)), append(received, float64(one.Received.Requests)), append(accepted, float64(one.Received.Accepted))
		n := int64(0)
		for _, count := range one.Result.Errors {
			n += count
		}
		failed, memory = append(failed, float64(n)), append(memory, one.Use.Memory)
		for _, q := range quantiles {
			times["latency-"+q.name] = append(times["latency-"+q.name], orNaN(one.Result.Latency, q.of))
			times["service-"+q.name] = append(times["service-"+q.name], orNaN(one.Result.ServiceTime, q.of))
		}
		for _, c := range attack.Consumers {
			cpu[c.Name] = append(cpu[c.Name], c.Of(one.Use))
		}
	}
	columns := []result.Column{
		{Name: "at", Title: "since the measurement began", Unit: "s", Values: at}, {Name: "round", Unit: "1", Values: round}, {Name: "way", Labels: ways},
		{Name: "connections", Unit: "1", Values: connections}, {Name: "rate", Title: "asked; 0 is a closed loop", Unit: "1/s", Values: rate}, {Name: "payload", Unit: "B", Values: payload},
		{Name: "achieved", Unit: "1/s", Values: achieved}, {Name: "requests", Title: "requests after the warm-up", Unit: "1", Values: requests},
		{Name: "failed", Unit: "1", Values: failed}, {Name: "sent", Title: "requests sent, with the warm-up", Unit: "1", Values: sent},
		{Name: "received", Title: "requests that came to the backends", Unit: "1", Values: received}, {Name: "accepted", Title: "connections that came to the backends", Unit: "1", Values: accepted},
	}
	for _, kind := range []string{"latency-", "service-"} {
		for _, q := range quantiles {
			columns = append(columns, result.Column{Name: kind + q.name, Unit: "s", Values: times[kind+q.name]})
		}
	}
	for _, c := range attack.Consumers {
		columns = append(columns, result.Column{Name: "cpu-" + c.Name, Title: "CPU time, " + c.Title, Unit: "s", Values: cpu[c.Name]})
	}
	columns = append(columns, result.Column{Name: "memory", Title: "largest working set of the data plane", Unit: "B", Values: memory}, result.Column{Name: "verdict", Labels: verdicts})
	t.Result.Series = append(t.Result.Series, result.Series{Name: "measurements", Title: "One row for each measurement", Columns: columns})
}

var quantiles = []struct {
	name string
	of   func(*load.Summary) float64
}{
	{"p50", p50}, {"p90", p90}, {"p95", func(s *load.Summary) float64 { return s.P95 }}, {"p99", p99},
	{"p999", func(s *load.Summary) float64 { return s.P999 }}, {"max", func(s *load.Summary) float64 { return s.Max }},
}

func orNaN(s *load.Summary, of func(*load.Summary) float64) float64 {
	if s == nil {
		return math.NaN()
	}
	return of(s)
}

// sorted are the points that a picture is about, by what stands on its x axis.
func (t *traffic) sorted(want func(point) bool, x func(point) int) []point {
	var all []point
	for _, p := range t.points {
		if want(p) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b point) int { return x(a) - x(b) })
	return all
}
