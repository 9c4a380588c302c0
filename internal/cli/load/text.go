package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/report/quantity"
)

// write prints a result for people.
func write(out io.Writer, r *load.Result) error {
	var b strings.Builder
	mode := "closed loop"
	if r.OpenLoop {
		mode = "open loop"
	}
	fmt.Fprintf(&b, "%s\n%s over %s, %s, %s, %s\n\n", r.URL, r.Protocol, r.Engine, mode,
		quantity.Plural(r.Connections, "connection", "connections"), quantity.Plural(r.Threads, "thread", "threads"))
	fmt.Fprintf(&b, "verdict    %s\n", r.Verdict)
	for _, reason := range r.Reasons {
		fmt.Fprintf(&b, "           %s\n", reason)
	}
	fmt.Fprintf(&b, "requests   %s in %s, %s\n", quantity.Count(int(r.Requests)), quantity.Duration(r.Seconds), errorsLine(r))
	if r.OpenLoop {
		fmt.Fprintf(&b, "rate       %s/s requested, %s/s achieved\n", number(r.RequestedRate), number(r.AchievedRate))
		fmt.Fprintf(&b, "schedule   %d sent over 1 ms late, %d found every connection busy, %d never sent\n", r.Late, r.Queued, r.Unsent)
	} else {
		fmt.Fprintf(&b, "rate       %s/s\n", number(r.AchievedRate))
	}
	fmt.Fprintf(&b, "statuses   %s\n", counts(r.StatusCodes))
	for _, class := range slices.Sorted(maps.Keys(r.Errors)) {
		fmt.Fprintf(&b, "error      %s: %d\n", class, r.Errors[class])
	}
	fmt.Fprintf(&b, "bytes      %s in, %s out\n", quantity.Write(float64(r.BytesIn), "bytes"), quantity.Write(float64(r.BytesOut), "bytes"))
	fmt.Fprintf(&b, "attacker   %.2f CPU-seconds, %s requests per CPU-second, busiest loop %.0f %%\n\n",
		r.CPUSeconds, number(float64(r.Requests)/max(r.CPUSeconds, 1e-9)), 100*r.Self.BusiestLoop)
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	return table(out, r)
}

func errorsLine(r *load.Result) string {
	var n int64
	for _, count := range r.Errors {
		n += count
	}
	if n == 0 {
		return "no errors"
	}
	return fmt.Sprintf("%d errors", n)
}

func number(v float64) string { return quantity.Count(int(v + 0.5)) }

func counts(statuses map[int]int64) string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		parts = append(parts, fmt.Sprintf("%d: %s", status, quantity.Count(int(statuses[status]))))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// table prints the times.
func table(out io.Writer, r *load.Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tmin\tmean\tp50\tp90\tp99\tp99.9\tp99.99\tmax\t")
	row := func(name string, s *load.Summary) {
		if s == nil {
			return
		}
		fmt.Fprintf(w, "%s\t", name)
		for _, v := range []float64{s.Min, s.Mean, s.P50, s.P90, s.P99, s.P999, s.P9999, s.Max} {
			fmt.Fprintf(w, "%s\t", quantity.Write(v, "s"))
		}
		fmt.Fprintln(w)
	}
	row("latency", r.Latency)
	if r.OpenLoop {
		row("service time", r.ServiceTime)
	}
	row("connect", r.Connect)
	row("TLS handshake", r.Handshake)
	for _, class := range slices.Sorted(maps.Keys(r.LatencyByClass)) {
		row(class.String(), r.LatencyByClass[class])
	}
	for _, window := range r.Windows {
		row(window.Name, window.Latency)
	}
	return w.Flush()
}
