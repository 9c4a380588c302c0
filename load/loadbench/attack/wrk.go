package attack

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// wrkScript runs once, after the attack, so it costs the attack nothing.
//
//go:embed wrk.lua
var wrkScript []byte

const wrkMark = "gatemark-bench "

var wrk = Tool{
	Name: "wrk", Program: "wrk", Loop: Closed, Version: []string{"-v"},
	Speaks: only(HTTP1),
	Args: func(j Job) ([]string, error) {
		script := filepath.Join(j.Folder, "wrk.lua")
		if err := os.WriteFile(script, wrkScript, 0o644); err != nil {
			return nil, err
		}
		return []string{
			"-t", "1", "-c", fmt.Sprint(j.Connections), "-d", fmt.Sprintf("%ds", j.seconds()),
			"--timeout", "30s", "-s", script, j.URL,
		}, nil
	},
	Parse: parseWrk,
}

func parseWrk(_ Job, o Output) (Report, error) {
	_, line, found := strings.Cut(string(o.Stdout), wrkMark)
	if !found {
		return Report{}, unread("wrk", "summary", o)
	}
	line, _, _ = strings.Cut(line, "\n")
	// Durations and latencies are in microseconds.
	var s struct {
		Duration                     float64
		Requests                     int64
		Connect, Read, Write, Status int64
		Timeout                      int64
		Mean, P50, P99, P999, Max    float64
	}
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		return Report{}, fmt.Errorf("wrk's summary %q: %w", line, err)
	}
	const micro = 1e-6
	r := Report{
		Requests: s.Requests,
		Errors:   s.Connect + s.Read + s.Write + s.Status + s.Timeout,
		Latency: map[string]float64{
			"mean": s.Mean * micro, "p50": s.P50 * micro, "p99": s.P99 * micro, "p99.9": s.P999 * micro, "max": s.Max * micro,
		},
		Late: -1, Unsent: -1,
	}
	if s.Duration > 0 {
		r.Achieved = float64(s.Requests) / (s.Duration * micro)
	}
	return r, nil
}
