package load

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
)

type options struct {
	streams cli.Streams
	flags   *pflag.FlagSet
	output  cli.Output
	url     string

	connections, streamCount, threads int
	duration, warmup, timeout, spin   time.Duration
	rate, arrival, protocol, engine   string
	receiveTime                       string
	seed, requests                    uint64
	fresh                             float64
	connect, method, body, bodyFile   string
	size                              int
	event, eventSource, eventType     string
	targets                           string
	header, sources                   []string
	status                            int
	route                             string
	generation                        int64
	bodySize                          int64
	insecure, resume                  bool
	ca, cert, key, serverName, tls    string
	records                           string
	slices                            bool
}

func (o *options) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVarP(&o.connections, "connections", "c", 64, "connections that are open at a time")
	f.IntVar(&o.streamCount, "streams", 1, "requests at a time on a connection (h2, grpc, websocket)")
	f.IntVar(&o.threads, "threads", 0, "event loops (default: one for each CPU)")
	f.DurationVarP(&o.duration, "duration", "d", 10*time.Second, "how long requests are sent")
	f.DurationVar(&o.warmup, "warmup", 0, "how long at the beginning requests do not count")
	f.DurationVar(&o.timeout, "timeout", 10*time.Second, "how long an answer may take")
	f.StringVarP(&o.rate, "rate", "r", "max", "requests per second; stages such as 1000/30s,1000..5000/1m; or max for a closed loop")
	f.StringVar(&o.arrival, "arrival", string(load.Even), "how requests spread around the rate: even, uniform or poisson")
	f.Uint64Var(&o.seed, "seed", 1, "of random arrivals")
	f.Uint64VarP(&o.requests, "requests", "n", 0, "end after this many requests")
	f.StringVar(&o.protocol, "protocol", string(load.HTTP1), "http1, h2, grpc or websocket; over TLS for https and wss")
	f.StringVar(&o.engine, "engine", string(load.Auto), "io_uring, epoll, or auto for the first that works")
	f.StringVar(&o.receiveTime, "receive-time", string(load.AutoTime), "instant of an answer: kernel (when it reached the socket), loop (when gatemark saw it), or auto (kernel in an open loop)")
	f.DurationVar(&o.spin, "spin", 0, "how long before a request is due its thread stops sleeping, to send on time at the cost of CPU")
	f.Float64Var(&o.fresh, "fresh", 0, "share of requests, 0 to 1, that each get a new connection")
	f.StringVar(&o.connect, "connect", "", "address, host:port, to connect to in place of the URL's")
	f.StringArrayVar(&o.sources, "source", nil, "local address to connect from; again for more, which have more ports")
	f.StringVarP(&o.method, "method", "X", "", "request method (default: GET, or POST with a body)")
	f.StringArrayVarP(&o.header, "header", "H", nil, "header field, 'Name: value'; again for more")
	f.StringVar(&o.body, "body", "", "request body")
	f.StringVar(&o.bodyFile, "body-file", "", "file that holds the request body")
	f.IntVar(&o.size, "body-size", 0, "size in bytes of a request body without meaning")
	f.StringVar(&o.event, "cloudevents", "", "send CloudEvents, binary or structured, with data of --body-size")
	f.StringVar(&o.eventSource, "event-source", "/gatemark/load", "source of the CloudEvents")
	f.StringVar(&o.eventType, "event-type", "io.gatemark.load", "type of the CloudEvents")
	f.StringVar(&o.targets, "targets", "", "file of targets in JSON that take turns, in place of a URL")
	f.IntVar(&o.status, "expect-status", 0, "status of a right answer (default: any 2xx)")
	f.StringVar(&o.route, "expect-route", "", "route marker of a right answer")
	f.Int64Var(&o.generation, "expect-generation", 1, "generation of that route")
	f.Int64Var(&o.bodySize, "expect-size", -1, "body size in bytes of a right answer (default: any)")
	f.BoolVarP(&o.insecure, "insecure", "k", false, "take any TLS certificate")
	f.BoolVar(&o.resume, "resume", false, "resume TLS sessions")
	f.StringVar(&o.ca, "cacert", "", "file of certificates, in PEM, that sign the server's")
	f.StringVar(&o.cert, "cert", "", "file of the client's certificate, in PEM")
	f.StringVar(&o.key, "key", "", "file of its key, in PEM")
	f.StringVar(&o.serverName, "server-name", "", "TLS server name (default: the URL's host)")
	f.StringVar(&o.tls, "tls-version", "", "1.2 or 1.3 (default: either)")
	f.StringVar(&o.records, "records", "", "file for a record of each request (Parquet)")
	f.BoolVar(&o.slices, "slices", false, "print, with --output json, every second's histograms")
	cli.AddOutputFlag(cmd, &o.output)
}

// attack turns the flags into options, or returns all that is wrong with them.
func (o *options) attack() (load.Options, error) {
	var problems []error
	check := func(err error) { problems = append(problems, err) }
	a := load.Options{
		Protocol: load.Protocol(o.protocol), Connections: o.connections, Streams: o.streamCount, Threads: o.threads,
		Arrival: load.Arrival(o.arrival), Seed: o.seed, Duration: o.duration, Warmup: o.warmup, Requests: o.requests,
		Timeout: o.timeout, Fresh: o.fresh, Engine: load.Engine(o.engine), ReceiveTime: load.ReceiveTime(o.receiveTime), Spin: o.spin,
		Whole: !o.slices,
		TLS:   load.TLSOptions{Insecure: o.insecure, ServerName: o.serverName, Version: o.tls, Resume: o.resume},
	}
	if o.requests > 0 && !o.flags.Changed("duration") {
		a.Duration = 0
	}
	if o.rate != "max" {
		var err error
		length := o.duration
		if a.Rate, err = load.ParseProfile(o.rate, length); err != nil {
			check(err)
		} else if o.flags.Changed("duration") && strings.Contains(o.rate, "/") {
			check(errors.New("--duration and the durations of --rate's stages exclude each other"))
		}
	}
	for _, s := range o.sources {
		ip, err := netip.ParseAddr(s)
		if err != nil {
			check(fmt.Errorf("--source: %w", err))
		}
		a.Sources = append(a.Sources, ip)
	}
	for _, file := range []struct {
		name string
		to   *[]byte
	}{{o.ca, &a.TLS.CA}, {o.cert, &a.TLS.Certificate}, {o.key, &a.TLS.Key}} {
		if file.name != "" {
			var err error
			*file.to, err = os.ReadFile(file.name)
			check(err)
		}
	}
	var err error
	a.Targets, err = o.allTargets()
	check(err)
	if len(a.Targets) > 0 {
		check(a.Validate())
	}
	return a, failure.Problems(problems)
}

// forTargets are the flags that describe a target by themselves.
var forTargets = []string{"connect", "method", "header", "body", "body-file", "body-size", "cloudevents", "expect-status", "expect-route", "expect-generation", "expect-size"}

func (o *options) allTargets() ([]load.Target, error) {
	if o.targets == "" {
		target, err := o.target()
		return []load.Target{target}, err
	}
	var problems []error
	for _, name := range forTargets {
		if o.flags.Changed(name) {
			problems = append(problems, fmt.Errorf("--targets and --%s exclude each other", name))
		}
	}
	text, err := os.ReadFile(o.targets)
	if err != nil {
		return nil, errors.Join(append(problems, err)...)
	}
	targets, err := load.ParseTargets(text)
	if err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", o.targets, err))
	}
	return targets, errors.Join(problems...)
}

func (o *options) target() (load.Target, error) {
	t := load.Target{
		URL: o.url, Connect: o.connect, Method: o.method, Body: []byte(o.body),
		Expect: load.Expect{Status: o.status, Body: o.bodySize},
	}
	var problems []error
	if o.route != "" {
		t.Expect.Marker = marker.Expect(o.route, o.generation)
	}
	if o.bodyFile != "" {
		var err error
		if t.Body, err = os.ReadFile(o.bodyFile); err != nil {
			problems = append(problems, err)
		}
		if o.body != "" {
			problems = append(problems, errors.New("--body and --body-file exclude each other"))
		}
	}
	if o.size < 0 {
		problems = append(problems, fmt.Errorf("--body-size %d is negative", o.size))
	}
	if o.size > 0 && o.event == "" {
		if len(t.Body) > 0 {
			problems = append(problems, errors.New("--body-size and another body exclude each other"))
		}
		t.Body = bytes.Repeat([]byte{'x'}, o.size)
	}
	for _, h := range o.header {
		name, value, ok := strings.Cut(h, ":")
		value = strings.TrimSpace(value)
		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("--header %q: want 'Name: value'", h))
		case strings.EqualFold(name, "host"):
			t.Host = value
		default:
			t.Header = append(t.Header, load.Field{Name: name, Value: value})
		}
	}
	if o.event != "" && len(problems) == 0 {
		event := load.Event{Mode: load.EventMode(o.event), Source: o.eventSource, Type: o.eventType, Size: o.size}
		var err error
		if t, err = event.Target(t); err != nil {
			problems = append(problems, err)
		}
	}
	return t, errors.Join(problems...)
}
