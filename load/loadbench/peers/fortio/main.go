// Command fortio runs fortio's own load runners from the library: the module of
// fortio's command needs another that cannot be had everywhere. The flags have
// fortio's names, and what is not set has fortio's defaults. It prints fortio's
// JSON on standard output.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"fortio.org/fortio/fgrpc"
	"fortio.org/fortio/fhttp"
	"fortio.org/fortio/periodic"
	"fortio.org/log"
)

type options struct {
	connections, streams int
	rate                 float64
	duration             time.Duration
	resolution           float64
	grpc, h2, insecure   bool
}

func main() {
	var o options
	flag.IntVar(&o.connections, "c", 4, "connections")
	flag.IntVar(&o.streams, "s", 1, "streams of each gRPC connection")
	flag.Float64Var(&o.rate, "qps", 8, "requests per second over all connections; 0: as fast as they go")
	flag.DurationVar(&o.duration, "t", 5*time.Second, "duration")
	flag.Float64Var(&o.resolution, "r", 0.001, "width of the histogram's buckets in seconds")
	flag.BoolVar(&o.grpc, "grpc", false, "gRPC health checks")
	flag.BoolVar(&o.h2, "h2", false, "HTTP/2, with the standard library's client")
	flag.BoolVar(&o.insecure, "k", false, "do not verify certificates")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: fortio [flags] URL")
		os.Exit(2)
	}
	if err := run(o, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "fortio:", err)
		os.Exit(1)
	}
}

func run(o options, target string) error {
	log.SetLogLevel(log.Error)
	runner := periodic.RunnerOptions{
		QPS:         o.rate,
		Duration:    o.duration,
		NumThreads:  o.connections,
		Percentiles: []float64{50, 90, 99, 99.9},
		Resolution:  o.resolution,
		Out:         io.Discard,
	}
	if o.rate == 0 {
		runner.QPS = -1 // 0 would be the library's default
	}
	result, err := attack(o, runner, target)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func attack(o options, runner periodic.RunnerOptions, target string) (any, error) {
	if o.grpc {
		return fgrpc.RunGRPCTest(&fgrpc.GRPCRunnerOptions{
			RunnerOptions:      runner,
			Destination:        target,
			Streams:            o.streams,
			AllowInitialErrors: true,
		})
	}
	h := fhttp.HTTPRunnerOptions{RunnerOptions: runner, AllowInitialErrors: true}
	h.HTTPOptions.Init(target)
	h.HTTPOptions.InitHeaders()
	h.HTTPOptions.TLSOptions = fhttp.TLSOptions{Insecure: o.insecure}
	h.HTTPOptions.HTTPReqTimeOut = 30 * time.Second
	// Its fast client speaks no HTTP/2.
	h.HTTPOptions.DisableFastClient = o.h2
	h.HTTPOptions.H2 = o.h2
	return fhttp.RunHTTPTest(&h)
}
