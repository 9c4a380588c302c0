package attack

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatemark/gatemark/stat"
)

var h2load = Tool{
	Name: "h2load", Program: "h2load", Loop: Paced, Version: []string{"--version"},
	Speaks: only(HTTP1, HTTP2, GRPC),
	Args:   h2loadArgs,
	Parse:  parseH2load,
}

// healthCheck is a gRPC health check of no service in particular: an empty
// message in its frame.
var healthCheck = []byte{0, 0, 0, 0, 0}

func h2loadArgs(j Job) ([]string, error) {
	args := []string{
		"-t", "1", "-c", fmt.Sprint(j.Connections), "-m", fmt.Sprint(max(1, j.Streams)),
		"-D", fmt.Sprint(j.seconds()),
	}
	if j.Rate > 0 {
		// Its rate is that of one connection.
		args = append(args, "--rps", strconv.FormatFloat(j.Rate/float64(j.Connections), 'f', -1, 64))
	}
	switch j.Protocol {
	case HTTP1:
		args = append(args, "--h1")
	case GRPC:
		data := filepath.Join(j.Folder, "grpc.bin")
		if err := os.WriteFile(data, healthCheck, 0o644); err != nil {
			return nil, err
		}
		args = append(args, "-H", "content-type: application/grpc", "-H", "te: trailers", "-d", data)
	}
	if j.Detail {
		// It appends to a log that is there.
		if err := os.Remove(h2loadLog(j)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		args = append(args, "--log-file", h2loadLog(j))
	}
	return append(args, j.URL), nil
}

func h2loadLog(j Job) string { return filepath.Join(j.Folder, "h2load.log") }

var (
	h2loadFinished = regexp.MustCompile(`finished in [^,]+, ([0-9.]+) req/s`)
	h2loadRequests = regexp.MustCompile(`requests: \d+ total, \d+ started, (\d+) done, \d+ succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`)
	h2loadTimes    = regexp.MustCompile(`time for request: +(\S+) +(\S+) +(\S+)`)
)

func parseH2load(j Job, o Output) (Report, error) {
	r := Report{Late: -1, Unsent: -1, Latency: map[string]float64{}}
	text := string(o.Stdout)
	finished := h2loadFinished.FindStringSubmatch(text)
	requests := h2loadRequests.FindStringSubmatch(text)
	if finished == nil || requests == nil {
		return r, unread("h2load", "summary", o)
	}
	var err error
	if r.Achieved, err = strconv.ParseFloat(finished[1], 64); err != nil {
		return r, fmt.Errorf("h2load's rate: %w", err)
	}
	n, err := integers(requests[1:])
	if err != nil {
		return r, fmt.Errorf("h2load's counts: %w", err)
	}
	// "failed" includes what is "errored" and "timeout".
	r.Requests, r.Errors = n[0], n[1]
	if times := h2loadTimes.FindStringSubmatch(text); times != nil {
		for i, name := range []string{2: "max", 3: "mean"} {
			if name == "" {
				continue
			}
			d, err := time.ParseDuration(times[i])
			if err != nil {
				return r, fmt.Errorf("h2load's time for request: %w", err)
			}
			r.Latency[name] = d.Seconds()
		}
	}
	if !j.Detail {
		return r, nil
	}
	return r, h2loadQuantiles(h2loadLog(j), r.Latency)
}

// h2loadQuantiles takes quantiles from the log of all requests, which is what
// its manual tells people to do who want them. A line is: start, status, and
// the time that the answer took, in microseconds.
func h2loadQuantiles(path string, into map[string]float64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var took []float64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			return fmt.Errorf("h2load's log: line %q has not three fields", lines.Text())
		}
		micros, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return fmt.Errorf("h2load's log: %w", err)
		}
		took = append(took, micros/1e6)
	}
	slices.Sort(took)
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99, "p99.9": 0.999} {
		if len(took) > 0 {
			into[name] = took[stat.Rank(q, len(took))-1]
		}
	}
	return nil
}

func integers(texts []string) ([]int64, error) {
	var all []int64
	for _, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
