package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The files in testdata were printed by the tools themselves, against a server
// that delays by 2 ms, fails each 100th request and resets each 250th, or
// against a port on which nobody listens.

var about = cmpopts.EquateApprox(1e-9, 0)

func output(t *testing.T, name string) Output {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return Output{Stdout: text}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		tool Tool
		file string
		want Report
	}{
		{wrk, "wrk.txt", Report{
			Requests: 3690, Errors: 44, Achieved: 3690 / 1.10728, Late: -1, Unsent: -1,
			Latency: map[string]float64{"mean": 0.002342, "p50": 0.00224, "p99": 0.004721, "p99.9": 0.007113, "max": 0.007143},
		}},
		{h2load, "h2load.txt", Report{
			Requests: 344, Errors: 2, Achieved: 344, Late: -1, Unsent: -1,
			Latency: map[string]float64{"mean": 0.00279, "max": 0.00839},
		}},
		{fortio, "fortio.json", Report{
			// It has tried again what was reset, and tells nobody.
			Requests: 400, Errors: 4, Achieved: 398.4410245844009, Late: -1, Unsent: -1,
			Latency: map[string]float64{"mean": 0.0027900186525, "p50": 0.002561497326203209, "p99": 0.009189988800000002, "p99.9": 0.009873948480000005, "max": 0.009949944},
		}},
		{fortio, "fortio-refused.json", Report{
			Requests: 0, Errors: 50, Achieved: 49.9609524181062, Late: -1, Unsent: -1,
			Latency: map[string]float64{"mean": 0.00029697306, "p50": 0.000387677918367347, "p99": 0.000659435918367347, "p99.9": 0.0006644273918367347, "max": 0.000664982},
		}},
		{hey, "hey.txt", Report{
			Requests: 392, Errors: 3, Achieved: 382.6295, Late: -1, Unsent: -1,
			Latency: map[string]float64{"mean": 0.003, "p50": 0.0028, "p99": 0.0068, "max": 0.0069},
		}},
		{hey, "hey-refused.txt", Report{
			Requests: 0, Errors: 100, Achieved: 98.0471, Late: -1, Unsent: -1, Latency: map[string]float64{"max": 0},
		}},
		{oha, "oha.json", Report{
			Requests: 399, Errors: 5, Achieved: 399.4303938845226, Late: -1, Unsent: -1,
			Latency: map[string]float64{"mean": 0.0026343067593984936, "p50": 0.002355359, "p99": 0.008967449, "p99.9": 0.012390849, "max": 0.012390849},
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got, err := c.tool.Parse(Job{Protocol: HTTP1}, output(t, c.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, about); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestH2loadsLog: with Detail, quantiles come from the log of all requests.
func TestH2loadsLog(t *testing.T) {
	folder := t.TempDir()
	log := output(t, "h2load.log").Stdout
	if err := os.WriteFile(filepath.Join(folder, "h2load.log"), log, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := h2load.Parse(Job{Protocol: HTTP1, Detail: true, Folder: folder}, output(t, "h2load.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"mean": 0.00279, "max": 0.00839, "p50": 0.002383, "p99": 0.002616, "p99.9": 0.002616}
	if diff := cmp.Diff(want, got.Latency, about); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestH2loadsLogBegins anew with each job, for h2load appends to it.
func TestH2loadsLogBegins(t *testing.T) {
	j := Job{Protocol: HTTP1, Detail: true, Folder: t.TempDir(), Connections: 1, URL: "http://127.0.0.1:1/"}
	if err := os.WriteFile(h2loadLog(j), []byte("1\t200\t5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := h2load.Args(j); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(h2loadLog(j)); !os.IsNotExist(err) {
		t.Errorf("an older log is still there: %v", err)
	}
}

func TestParseGatemark(t *testing.T) {
	const printed = `{"requests":20002,"errors":{"reset":2,"status":3},"statusCodes":{"200":19997,"503":3},"bytesIn":1,"bytesOut":1,
		"requestedRate":5000,"achievedRate":4999.5,"latency":{"min":0.001,"mean":0.002,"p50":0.003,"p90":0.004,"p95":0.005,"p99":0.006,"p99.9":0.007,"p99.99":0.008,"max":0.009},
		"serviceTime":{"p50":0.001},"cpuSeconds":0.5,"engine":"epoll","verdict":"ok","late":7,"unsent":1}`
	got, err := gatemark("epoll").Parse(Job{}, Output{Stdout: []byte(printed)})
	if err != nil {
		t.Fatal(err)
	}
	want := Report{
		Requests: 20000, Errors: 5, Achieved: 4999.5, Late: 7, Unsent: 1, Engine: "epoll", Verdict: "ok",
		Latency: map[string]float64{"mean": 0.002, "p50": 0.003, "p99": 0.006, "p99.9": 0.007, "max": 0.009},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, err = gatemark("io_uring").Parse(Job{}, Output{Stdout: []byte(printed)})
	if err == nil || !strings.Contains(err.Error(), "asked for io_uring") {
		t.Errorf("an engine that fell back was taken for the other: %v", err)
	}
}

// TestParseWhatIsNotThere: a tool that prints something else is an error that
// shows what it printed, never a report of zeros.
func TestParseWhatIsNotThere(t *testing.T) {
	for _, tool := range All() {
		for _, printed := range []string{"", "{}", "unable to connect"} {
			got, err := tool.Parse(Job{Protocol: HTTP1, Folder: t.TempDir()}, Output{Stdout: []byte(printed)})
			if err == nil {
				t.Errorf("%s: %q became %+v", tool.Name, printed, got)
			} else if !strings.Contains(err.Error(), printed) {
				t.Errorf("%s: the error does not say what was printed: %v", tool.Name, err)
			}
		}
	}
}
