package tables

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/bench"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// results are made up, with a bit of everything: ratios that differ by round,
// a failed tool, a tool that counts wrongly, a stall, and a disturbed run.
func results() *bench.Results {
	r := &bench.Results{
		Schema: bench.Schema, Started: time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC),
		Machine:  bench.Machine{Kernel: "6.18", CPU: "a CPU", Cores: 2},
		Settings: bench.Settings{Rounds: 6, Duration: 1, Seed: 1},
		Versions: map[string]string{"wrk": "wrk 4.1.0"}, TLS: "TLS 1.3, a cipher",
		Skipped: []string{"no oha: it is not there"},
	}
	run := func(service, tool string, round int, requests int64, cpu float64) bench.Run {
		return bench.Run{
			Tool: tool, Service: service, Path: "loopback", Connections: 64, Streams: 1, Round: round, Duration: 1,
			MostMemory: 10 << 20, Report: attack.Report{Requests: requests},
			Whole:  bench.Span{Seconds: 1, CPU: cpu + 0.1, Requests: requests},
			Steady: bench.Span{Seconds: 1, CPU: cpu, Server: 0.9, Machine: cpu + 0.9, Requests: requests},
		}
	}
	for round := range 6 {
		drift := int64(1000 * round) // of the machine, the same for all
		r.Cost = append(r.Cost,
			run("HTTP/1.1", "wrk", round, 50000+drift, 1),
			run("HTTP/1.1", "gatemark io_uring", round, 60000+drift, 1),
			run("HTTP/1.1", "gatemark epoll", round, 51000+drift, 1))
	}
	r.Cost[1].Steady.Machine += 0.5
	hey := run("HTTP/1.1", "hey", 0, 1000, 1)
	hey.Whole.Requests = 2000
	fortio := run("HTTP/1.1", "fortio", 0, 0, 0)
	fortio.Failed = "exit status 1: it is broken"
	r.Cost = append(r.Cost, hey, fortio, run("HTTP/1.1 over TLS", "h2load", 0, 30000, 1), run("HTTP/1.1 over TLS", "gatemark io_uring", 0, 31000, 1))

	open := func(tool string, k bench.Known) bench.Known {
		k.Tool, k.Connections, k.Duration, k.Whole = tool, 64, 10, bench.Span{Seconds: 10, CPU: 1}
		return k
	}
	latency := map[string]float64{"p50": 0.001, "p99": 0.0125, "p99.9": 1.39, "max": 1.4}
	r.Open = []bench.Known{
		open("gatemark io_uring", bench.Known{Run: bench.Run{Rate: 1000}, Case: "1000/s", Loop: attack.Open, True: bench.Truth{Rate: 1000.2, Punctual: 0.99999, Late: 0.0004}}),
		open("fortio", bench.Known{Run: bench.Run{Rate: 1000}, Case: "1000/s", Loop: attack.Paced, True: bench.Truth{Rate: 900, NotSent: 1000, Punctual: 0.5, Late: math.MaxFloat64}}),
	}
	r.Truth = []bench.Known{
		open("gatemark io_uring", bench.Known{
			Run:  bench.Run{Rate: 2000, Report: attack.Report{Requests: 19999, Errors: 2, Latency: latency, Unsent: 0}},
			Case: "a stall", Loop: attack.Open, True: bench.Truth{Requests: 20000, Failed: 1, Reset: 1, Sent: latency, Due: latency},
		}),
		open("wrk", bench.Known{
			Run:  bench.Run{Report: attack.Report{Requests: 5000, Latency: map[string]float64{"p50": 0.001, "p99": 0.002}, Unsent: -1}},
			Case: "a stall", Loop: attack.Closed, True: bench.Truth{Requests: 5000, NotSent: 15000, Sent: map[string]float64{"p50": 0.001, "p99": 0.001, "p99.9": 0.001, "max": 1.4}},
		}),
	}
	r.Many = []bench.Run{{Tool: "gatemark io_uring", MostMemory: 100 << 20, Report: attack.Report{Requests: 30000, Achieved: 10000, Latency: latency}}}
	r.Memory = []bench.Memory{{
		Run: bench.Run{Tool: "gatemark io_uring", Rate: 10000, Duration: 600}, Every: 30,
		Samples: []int64{8 << 20, 9 << 20, 10 << 20, 10 << 20, 11 << 20, 1 << 20},
	}}
	r.Precise = []bench.Precise{{
		Run: bench.Run{Tool: "gatemark epoll", Rate: 20000, Duration: 50}, Records: 1_000_000, Answered: 999_999,
		Latency: bench.Excess{P50: 20e-6, P99: 30e-6, P999: 49e-6, Max: 0.002, Within50: 0.99901},
		Service: bench.Excess{P50: 18e-6, P99: 25e-6, P999: 40e-6, Max: 0.0019, Within50: 0.9995},
	}}
	calm := &r.Precise[0].Calm
	calm.Records, calm.Latency, calm.Service = 900_000, r.Precise[0].Latency, r.Precise[0].Service
	return r
}

func TestTables(t *testing.T) {
	for name, format := range map[string]Format{"tables.txt": Text, "tables.md": Markdown} {
		var out bytes.Buffer
		if err := Write(&out, format, All(results())); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
}

// golden compares with a file in testdata, and leaves what it got beside it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		if err := os.WriteFile(path+".got", []byte(got), 0o644); err != nil {
			t.Error(err)
		}
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestRatiosAreWithinRounds: a machine that gets faster is no difference.
func TestRatiosAreWithinRounds(t *testing.T) {
	one := func(tool string, round int, cpu float64, requests int64) bench.Run {
		return bench.Run{Tool: tool, Round: round, Steady: bench.Span{CPU: cpu, Requests: requests}}
	}
	var runs []bench.Run
	for round := range 6 {
		speed := int64(1000 << round)
		runs = append(runs,
			one("a", round, 1, speed),
			one("b", round, 2, 3*speed))
	}
	runs = append(runs,
		one("b", 7, 1, 1), // has no partner
		bench.Run{Tool: "a", Round: 8, Failed: "it broke"},
		one("b", 8, 1, 1),
		bench.Run{Tool: "a", Round: 9}, // ended before it was steady
		one("b", 9, 1, 1))
	got := spreadOf(ratios(runs, "b", "a", perCPU))
	if want := (spread{6, 1.5, 1.5, 1.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		s    spread
		want string
	}{
		{spread{6, 1.2, 1.16, 1.3}, "yes"},
		{spread{6, 1.2, 1.1, 1.3}, "not certain"},
		{spread{6, 1.1, 1.0, 1.3}, "no"},
		{spread{2, 1.2, 1.2, 1.3}, "yes, in 2 of the >= 6 rounds"},
	} {
		if got := c.s.verdict(1.15); got != c.want {
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{count(0), "0"}, {count(999), "999"}, {count(1000), "1,000"}, {count(1234567), "1,234,567"}, {count(-1000), "-1,000"}, {count(-100), "-100"},
		{percent(1), "100.00 %"}, {percent(0.999999), "99.99 %"}, {percent(0.5), "50.00 %"}, {percent(0), "0.00 %"}, {percent(0.999), "99.90 %"}, {percent(0.998999), "99.89 %"},
		{milliseconds(0.0000012), "0.001"}, {milliseconds(0.0012345), "1.23"}, {milliseconds(0.0123), "12.3"}, {milliseconds(1.4004), "1400"}, {milliseconds(math.MaxFloat64), "never sent"},
		{spreadOf(nil).rate(), "-"}, {spreadOf(nil).ratio(), "-"}, {spreadOf([]float64{1.234}).ratio(), "1.23"},
		{spreadOf([]float64{1, 2, 1.5}).ratio(), "1.50 [1.00-2.00]"}, {spreadOf([]float64{90, 100, 110}).rate(), "100 ±10 %"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
