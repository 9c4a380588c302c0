package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// replicaProcess makes this binary a replica that never changes, in a process
// of its own: only so can the prober's cost be told from what it probes.
const replicaProcess = "GATEMARK_PROBE_REPLICA"

func TestMain(m *testing.M) {
	if os.Getenv(replicaProcess) == "" {
		os.Exit(m.Run())
	}
	address, err := serveOld(os.Getenv(replicaProcess))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(address)
	select {}
}

// serveOld is a replica that gives the old answer for ever, or for TLS, which
// costs only where it is served, the new one.
func serveOld(protocol string) (address netip.AddrPort, err error) {
	switch protocol {
	case "grpc":
		address, _, _, err = serveGRPC(func() bool { return false })
	case "tls":
		address, _, err = serveTLS(func() bool { return true })
	default:
		var s *server
		if s, err = listen(func(*request) string { return oldAnswer }); err == nil {
			address = s.target("").Address
		}
	}
	return address, err
}

// BenchmarkProbing probes three replicas on both kinds of connections for some
// seconds. It reports what the prober's thread costs, as a share of one core,
// and how late its probes are. Where the machine is busy otherwise, so are the
// numbers.
func BenchmarkProbing(b *testing.B) {
	ask := func(name, protocol string, q Question, options Options) {
		options.Sparse, options.Calm, options.Limit = 1e-6, 1, 4*time.Second // as close as probes ever are, all the time
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				benchmarkProbing(b, protocol, q, options)
			}
		})
	}
	run := func(name string, options Options) { ask(name, "http", question(), options) }
	ask("grpc-both", "grpc", grpcQuestion(), Options{})
	served := tlsQuestion()
	served.Old, served.New = served.New, served.Old
	ask("tls-new-4ms", "tls", served, Options{Connections: Fresh, FreshStep: 4 * time.Millisecond})
	run("both", Options{})
	run("both-realtime", Options{Realtime: true})
	run("both-new-5ms", Options{FreshStep: 5 * time.Millisecond})
	run("both-2ms", Options{Step: 2 * time.Millisecond})
	run("kept", Options{Connections: Kept})
	run("new", Options{Connections: Fresh})
}

func benchmarkProbing(b *testing.B, protocol string, q Question, options Options) {
	var targets []Target
	for n := range 3 {
		process := exec.Command(os.Args[0])
		process.Env = append(os.Environ(), replicaProcess+"="+protocol)
		out, err := process.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := process.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() {
			process.Process.Kill()
			process.Wait()
		}()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		targets = append(targets, Target{fmt.Sprint("replica-", n), netip.MustParseAddrPort(strings.TrimSpace(line))})
	}
	i, err := Start(q, targets, options)
	if err != nil {
		b.Fatal(err)
	}
	if err := i.Old(b.Context()); err != nil {
		b.Fatal(err)
	}
	i.Mark(time.Now())
	o, err := i.Wait(context.Background())
	if err != nil {
		b.Fatal(errors.Join(err, o.Valid()))
	}
	reportProbing(b, o)
}

func reportProbing(b *testing.B, o *Outcome) {
	var delays []time.Duration
	for i := range o.Lanes {
		for _, s := range o.Lanes[i].Samples {
			if s.Due >= 0 {
				delays = append(delays, s.Began-s.Due)
			}
		}
	}
	slices.Sort(delays)
	at := func(q float64) float64 {
		return delays[int(q*float64(len(delays)-1))].Seconds() * 1e6
	}
	seconds := o.Ended.Sub(o.T0).Seconds()
	total := o.Total(func(l *Lane) *Counts { return &l.Transition })
	b.ReportMetric(100*o.CPU.Seconds()/seconds, "%core")
	b.ReportMetric(o.CPU.Seconds()*1e6/float64(total.Sent), "cpu-us/probe")
	b.ReportMetric(float64(total.Sent)/seconds, "probes/s")
	b.ReportMetric(at(0.5), "late-us-p50")
	b.ReportMetric(at(0.99), "late-us-p99")
	b.ReportMetric(at(0.999), "late-us-p99.9")
	b.ReportMetric(at(1), "late-us-max")
	b.ReportMetric(float64(total.Busy), "busy")
	b.ReportMetric(float64(total.Missed), "missed")
	b.ReportMetric(float64(total.ErrorCount()), "errors")
}
