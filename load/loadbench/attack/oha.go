package attack

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

var oha = Tool{
	Name: "oha", Program: "oha", Loop: Open, Version: []string{"--version"},
	Speaks: only(HTTP1, HTTP2),
	Args: func(j Job) ([]string, error) {
		args := []string{
			"--no-tui", "--output-format", "json", "--worker-threads", "1",
			"-c", fmt.Sprint(j.Connections), "-z", j.Duration.String(),
		}
		if j.Rate > 0 {
			args = append(args, "-q", strconv.FormatFloat(j.Rate, 'f', -1, 64), "--latency-correction")
		}
		if j.Protocol == HTTP2 {
			args = append(args, "--http2", "-p", fmt.Sprint(max(1, j.Streams)))
		} else {
			// Else requests in flight at the end count as errors.
			args = append(args, "-w")
		}
		if j.TLS() {
			args = append(args, "--insecure")
		}
		return append(args, j.URL), nil
	},
	Parse: parseOha,
}

func parseOha(_ Job, o Output) (Report, error) {
	var s struct {
		Summary *struct {
			Total, Slowest, Average float64
			RequestsPerSec          float64
		}
		LatencyPercentiles     map[string]float64
		StatusCodeDistribution map[string]int64
		ErrorDistribution      map[string]int64
	}
	if err := json.Unmarshal(o.Stdout, &s); err != nil {
		return Report{}, fmt.Errorf("%w: %w", unread("oha", "JSON", o), err)
	}
	if s.Summary == nil {
		return Report{}, unread("oha", "summary", o)
	}
	r := Report{
		Achieved: s.Summary.RequestsPerSec,
		Latency:  map[string]float64{"mean": s.Summary.Average, "max": s.Summary.Slowest},
		Late:     -1, Unsent: -1,
	}
	for _, name := range []string{"p50", "p99", "p99.9"} {
		if v, ok := s.LatencyPercentiles[name]; ok {
			r.Latency[name] = v
		}
	}
	for code, n := range s.StatusCodeDistribution {
		r.Requests += n
		if !strings.HasPrefix(code, "2") {
			r.Errors += n
		}
	}
	for what, n := range s.ErrorDistribution {
		// Cut off by the job's end: neither answered nor failed.
		if what != "aborted due to deadline" {
			r.Errors += n
		}
	}
	return r, nil
}
