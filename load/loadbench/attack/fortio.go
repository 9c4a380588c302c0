package attack

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// fortio's in-flight requests on HTTP/2 are connections: its client has one for
// each. gRPC has streams.
var fortio = Tool{
	Name: "fortio", Program: "fortio", Loop: Paced,
	Speaks: only(HTTP1, HTTP2, GRPC),
	Args: func(j Job) ([]string, error) {
		connections, target := j.Connections, j.URL
		args := []string{"-qps", strconv.FormatFloat(j.Rate, 'f', -1, 64), "-t", j.Duration.String()}
		switch j.Protocol {
		case HTTP2:
			args = append(args, "-h2")
			connections *= max(1, j.Streams)
		case GRPC:
			args = append(args, "-grpc", "-s", fmt.Sprint(max(1, j.Streams)))
			target = j.Address()
		}
		if j.Detail {
			// Its buckets of 1 ms are too wide for most of what is told here.
			args = append(args, "-r", "0.00001")
		}
		if j.TLS() {
			args = append(args, "-k")
		}
		return append(args, "-c", fmt.Sprint(connections), target), nil
	},
	Parse: parseFortio,
}

func parseFortio(j Job, o Output) (Report, error) {
	var s struct {
		ActualQPS         float64
		RetCodes          map[string]int64
		DurationHistogram struct {
			Count       int64
			Max, Avg    float64
			Percentiles []struct{ Percentile, Value float64 }
		}
	}
	if err := json.Unmarshal(o.Stdout, &s); err != nil {
		return Report{}, fmt.Errorf("%w: %w", unread("fortio", "JSON", o), err)
	}
	if len(s.RetCodes) == 0 {
		return Report{}, unread("fortio", "RetCodes", o)
	}
	h := s.DurationHistogram
	r := Report{
		Achieved: s.ActualQPS,
		Latency:  map[string]float64{"mean": h.Avg, "max": h.Max},
		Late:     -1, Unsent: -1,
	}
	for _, p := range h.Percentiles {
		switch name := "p" + strconv.FormatFloat(p.Percentile, 'f', -1, 64); name {
		case "p50", "p99", "p99.9":
			r.Latency[name] = p.Value
		}
	}
	for code, n := range s.RetCodes {
		// A code of -1 is a failed connection: there was no answer.
		if status, err := strconv.Atoi(code); err != nil || status > 0 {
			r.Requests += n
		}
		if code != "SERVING" && (j.Protocol == GRPC || code[0] != '2') {
			r.Errors += n
		}
	}
	return r, nil
}
