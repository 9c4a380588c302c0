package attack

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// gatemark is the engine under test, one tool for each way into the kernel.
func gatemark(engine string) Tool {
	return Tool{
		Name: "gatemark " + engine, Program: "gatemark", Loop: Open, Version: []string{"version"},
		Speaks: only(HTTP1, HTTP2, GRPC),
		Args: func(j Job) ([]string, error) {
			rate := "max"
			if j.Rate > 0 {
				rate = strconv.FormatFloat(j.Rate, 'f', -1, 64)
			}
			args := []string{
				"load", "--output", "json", "--engine", engine, "--threads", "1",
				"--connections", fmt.Sprint(j.Connections), "--duration", j.Duration.String(), "--rate", rate,
			}
			switch j.Protocol {
			case HTTP2:
				args = append(args, "--protocol", "h2", "--streams", fmt.Sprint(max(1, j.Streams)))
			case GRPC:
				args = append(args, "--protocol", "grpc", "--streams", fmt.Sprint(max(1, j.Streams)))
			}
			if j.TLS() {
				args = append(args, "--insecure")
			}
			if j.Spin > 0 {
				args = append(args, "--spin", j.Spin.String())
			}
			if j.Records != "" {
				args = append(args, "--records", j.Records)
			}
			return append(args, j.URL), nil
		},
		Parse: func(_ Job, o Output) (Report, error) { return parseGatemark(engine, o) },
	}
}

func parseGatemark(engine string, o Output) (Report, error) {
	var s struct {
		Requests     *int64
		Errors       map[string]int64
		StatusCodes  map[string]int64
		AchievedRate float64
		Latency      map[string]float64
		Engine       string
		Verdict      json.RawMessage
		Late, Unsent *int64
	}
	if err := json.Unmarshal(o.Stdout, &s); err != nil {
		return Report{}, fmt.Errorf("%w: %w", unread("gatemark", "JSON", o), err)
	}
	if s.Requests == nil {
		return Report{}, unread("gatemark", "requests", o)
	}
	if s.Latency == nil {
		return Report{}, fmt.Errorf("gatemark: none of %d requests ended well: %v", *s.Requests, s.Errors)
	}
	// An engine that fell back must not be taken for the other.
	if s.Engine != engine {
		return Report{}, fmt.Errorf("gatemark was asked for %s and used %q", engine, s.Engine)
	}
	r := Report{
		Achieved: s.AchievedRate, Latency: map[string]float64{},
		Late: -1, Unsent: -1, Engine: s.Engine, Verdict: verdict(s.Verdict),
	}
	for _, name := range []string{"mean", "p50", "p99", "p99.9", "max"} {
		if v, ok := s.Latency[name]; ok {
			r.Latency[name] = v
		}
	}
	// Its requests are all that were due; those with a status were answered.
	for _, n := range s.StatusCodes {
		r.Requests += n
	}
	for _, n := range s.Errors {
		r.Errors += n
	}
	if s.Late != nil {
		r.Late = *s.Late
	}
	if s.Unsent != nil {
		r.Unsent = *s.Unsent
	}
	return r, nil
}

// verdict is the text, or the raw value where there is more to it.
func verdict(raw json.RawMessage) string {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return text
	}
	return string(raw)
}
