// Package attack knows the load generators that are compared: how each is asked
// for one and the same job, and how to read what it prints. A tool is data and
// two functions, in a file of its own.
package attack

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// A Protocol is what a job speaks. Whether it does so within TLS is in the URL.
type Protocol string

// The protocols.
const (
	HTTP1 Protocol = "http1"
	HTTP2 Protocol = "http2"
	GRPC  Protocol = "grpc"
)

// A Job is what a tool is asked to do.
type Job struct {
	URL         string
	Protocol    Protocol
	Connections int
	// Streams is how many requests are in flight on each connection.
	Streams  int
	Duration time.Duration
	// Rate is in requests per second, over all connections; 0 asks for as
	// many as the tool can do, in a closed loop.
	Rate float64
	// Detail asks for every quantile, even where the tool must log each
	// request for it. Jobs whose CPU time is measured do without.
	Detail bool
	// Records is a file for a record of each request, of tools that keep such;
	// empty for none.
	Records string
	// Spin is how long before each request the attacker does not sleep, of tools
	// that can do so.
	Spin time.Duration
	// Folder is for files that the tool needs or writes.
	Folder string
}

// Address is the URL's host and port.
func (j Job) Address() string {
	_, rest, _ := strings.Cut(j.URL, "://")
	address, _, _ := strings.Cut(rest, "/")
	return address
}

// TLS tells whether the job is within TLS.
func (j Job) TLS() bool { return strings.HasPrefix(j.URL, "https:") }

// seconds is the duration for tools that take whole seconds only.
func (j Job) seconds() int { return max(1, int(j.Duration.Round(time.Second)/time.Second)) }

// Output is what a finished tool left.
type Output struct{ Stdout, Stderr []byte }

// A Report is what a tool says of its job, by its own count and clock.
type Report struct {
	// Requests counts those that got an answer, whatever its status.
	Requests int64 `json:"requests"`
	// Errors counts those that failed: a status other than 2xx, or no answer.
	Errors int64 `json:"errors"`
	// Latency is in seconds, by name: mean, p50, p99, p99.9, max. What the
	// tool does not tell is absent.
	Latency map[string]float64 `json:"latency,omitempty"`
	// Achieved is in requests per second, 0 where the tool does not tell.
	Achieved float64 `json:"achieved,omitempty"`
	// Late counts requests that the tool itself calls sent late, Unsent those
	// that it calls never sent; -1 where it does not tell.
	Late   int64 `json:"late"`
	Unsent int64 `json:"unsent"`
	// Engine and Verdict are gatemark's.
	Engine  string `json:"engine,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

// Loop is how a tool decides when to send.
type Loop string

// The loops.
const (
	// Open: requests are due by a schedule, whatever the answers do.
	Open Loop = "open"
	// Paced: at most so many per second, but a connection that waits for an
	// answer sends nothing.
	Paced Loop = "paced"
	// Closed: the next request follows the answer.
	Closed Loop = "closed"
)

// A Tool is a load generator.
type Tool struct {
	// Name is unique, Program the executable's.
	Name, Program string
	// Loop is what the tool does when it is asked for a rate.
	Loop Loop
	// Version is the arguments that make the program tell its version, nil
	// where it cannot.
	Version []string
	// Speaks tells what it can do; the error says what it cannot.
	Speaks func(Job) error
	// Args makes the arguments. It may write files into the job's Folder.
	Args func(Job) ([]string, error)
	// Parse reads what the tool left after the job.
	Parse func(Job, Output) (Report, error)
}

// All returns every tool in the order of the tables.
func All() []Tool {
	return []Tool{
		gatemark("io_uring"), gatemark("epoll"), floor("io_uring"), floor("epoll"),
		wrk, h2load, oha, fortio, hey,
	}
}

// ByName finds tools. The error names those that there are.
func ByName(names []string) ([]Tool, error) {
	var found []Tool
	for _, name := range names {
		n := len(found)
		for _, t := range All() {
			// "gatemark" and "floor" mean both engines.
			if t.Name == name || strings.HasPrefix(t.Name, name+" ") {
				found = append(found, t)
			}
		}
		if len(found) == n {
			return nil, fmt.Errorf("no tool is called %q: there are %s", name, strings.Join(toolNames(), ", "))
		}
	}
	return found, nil
}

func toolNames() []string {
	var names []string
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return names
}

// only refuses all protocols but some.
func only(protocols ...Protocol) func(Job) error {
	return func(j Job) error {
		for _, p := range protocols {
			if j.Protocol == p {
				return nil
			}
		}
		return fmt.Errorf("it does not speak %s", j.Protocol)
	}
}

// unread is the error for output that is not what the tool is known to print.
func unread(tool, missing string, o Output) error {
	text := bytes.TrimSpace(o.Stderr)
	if len(text) == 0 {
		text = bytes.TrimSpace(o.Stdout)
	}
	const most = 600
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return fmt.Errorf("%s printed no %s, but ends: %s", tool, missing, text)
}
