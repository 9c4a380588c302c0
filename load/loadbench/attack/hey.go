package attack

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

var hey = Tool{
	Name: "hey", Program: "hey", Loop: Paced,
	Speaks: func(j Job) error {
		if j.Protocol == HTTP2 && !j.TLS() {
			return fmt.Errorf("it speaks HTTP/2 over TLS only")
		}
		return only(HTTP1, HTTP2)(j)
	},
	Args: func(j Job) ([]string, error) {
		// Each of its workers has one request in flight; on HTTP/2 they share
		// one connection.
		workers := j.Connections
		args := []string{"-z", j.Duration.String(), "-t", "30"}
		if j.Protocol == HTTP2 {
			workers *= max(1, j.Streams)
			args = append(args, "-h2")
		}
		if j.Rate > 0 {
			// Its rate is that of one worker.
			args = append(args, "-q", strconv.FormatFloat(j.Rate/float64(workers), 'f', -1, 64))
		}
		return append(args, "-c", fmt.Sprint(workers), j.URL), nil
	},
	Parse: parseHey,
}

var (
	heyTotal    = regexp.MustCompile(`Total:\s+([0-9.]+) secs`)
	heyRate     = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	heySlowest  = regexp.MustCompile(`Slowest:\s+([0-9.]+|NaN) secs`)
	heyAverage  = regexp.MustCompile(`Average:\s+([0-9.]+|NaN) secs`)
	heyQuantile = regexp.MustCompile(`(\d+)%+ in ([0-9.]+) secs`)
	heyStatus   = regexp.MustCompile(`\[(\d+)\]\t(\d+) responses`)
	heyError    = regexp.MustCompile(`(?m)^\s*\[(\d+)\]\t(.*)$`)
)

func parseHey(_ Job, o Output) (Report, error) {
	text := string(o.Stdout)
	r := Report{Latency: map[string]float64{}, Late: -1, Unsent: -1}
	var total float64
	for _, f := range []struct {
		in   *regexp.Regexp
		name string
		into func(float64)
	}{
		{heyTotal, "Total", func(v float64) { total = v }},
		{heyRate, "Requests/sec", func(v float64) { r.Achieved = v }},
		{heySlowest, "Slowest", func(v float64) { r.Latency["max"] = v }},
		{heyAverage, "Average", func(v float64) { r.Latency["mean"] = v }},
	} {
		m := f.in.FindStringSubmatch(text)
		if m == nil {
			return r, unread("hey", f.name, o)
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return r, fmt.Errorf("hey's %s: %w", f.name, err)
		}
		// Where nothing was answered, there is no average.
		if !math.IsNaN(v) {
			f.into(v)
		}
	}
	for _, m := range heyQuantile.FindAllStringSubmatch(text, -1) {
		if m[1] != "50" && m[1] != "99" {
			continue
		}
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return r, fmt.Errorf("hey's %s%%: %w", m[1], err)
		}
		r.Latency["p"+m[1]] = v
	}
	return r, heyCounts(text, total, &r)
}

// heyCounts counts answers and failures. hey keeps a million results and
// forgets the others; then its rate tells how many there were.
func heyCounts(text string, total float64, r *Report) error {
	for _, m := range heyStatus.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return fmt.Errorf("hey's statuses: %w", err)
		}
		r.Requests += n
		if m[1][0] != '2' {
			r.Errors += n
		}
	}
	if r.Requests >= 1_000_000 {
		r.Requests = int64(math.Round(total * r.Achieved))
	}
	for _, m := range heyError.FindAllStringSubmatch(text, -1) {
		if heyStatus.MatchString(m[0]) {
			continue
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return fmt.Errorf("hey's errors: %w", err)
		}
		r.Errors += n
	}
	return nil
}
