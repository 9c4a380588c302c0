package load

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/load/records"
)

// backend starts one and returns its URL.
func backend(t *testing.T) string {
	t.Helper()
	server, err := echo.Listen(echo.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + server.Address().String() + "/"
}

func execute(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := New(cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	cmd.SetArgs(args)
	cmd.SetOut(&stderr)
	cmd.SetErr(&stderr)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

// TestContract: the fields that scripts rely on are there, with their meaning.
func TestContract(t *testing.T) {
	out, err := execute(t, "--connections", "4", "--duration", "300ms", "--rate", "1000", "--output", "json", backend(t))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"requests", "errors", "statusCodes", "bytesIn", "bytesOut", "requestedRate", "achievedRate", "latency", "serviceTime", "cpuSeconds", "engine", "verdict"} {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range []string{"latency", "serviceTime"} {
		times, _ := got[name].(map[string]any)
		last := 0.0
		for _, q := range []string{"min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"} {
			v, ok := times[q].(float64)
			if !ok || v < last || v <= 0 || v > 10 {
				t.Errorf("%s.%s is %v, after %v", name, q, times[q], last)
			}
			last = v
		}
		if mean, ok := times["mean"].(float64); !ok || mean <= 0 {
			t.Errorf("%s.mean is %v", name, times["mean"])
		}
	}
	if got["requests"] != 300.0 || got["requestedRate"] != 1000.0 || got["statusCodes"].(map[string]any)["200"] != 300.0 {
		t.Errorf("%v requests at %v, statuses %v", got["requests"], got["requestedRate"], got["statusCodes"])
	}
	if _, ok := got["slices"]; ok {
		t.Error("slices are printed without being asked for")
	}
}

func TestEveryProtocol(t *testing.T) {
	url := backend(t)
	for _, protocol := range load.Protocols {
		args := []string{"-n", "50", "-c", "2", "--protocol", string(protocol), "--body", "hello", "-o", "json"}
		if protocol != load.HTTP1 {
			args = append(args, "--streams", "3")
		}
		out, err := execute(t, append(args, url)...)
		if err != nil {
			t.Errorf("%s: %v", protocol, err)
			continue
		}
		var r load.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.Requests != 50 || len(r.Errors) > 0 {
			t.Errorf("%s: %v; %d requests, errors %v", protocol, err, r.Requests, r.Errors)
		}
	}
}

// TestTargets: a file of targets with methods, weights and bodies.
func TestTargets(t *testing.T) {
	url := backend(t)
	file := filepath.Join(t.TempDir(), "targets.json")
	text := `[{"url":"` + url + `?size=3","weight":3,"expect":{"body":3}},{"url":"` + url + `","method":"POST","body":"aGVsbG8=","header":[{"name":"x-a","value":"b"}]}]`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := execute(t, "-n", "80", "-c", "4", "--targets", file, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var r load.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Requests != 80 || len(r.Errors) > 0 {
		t.Errorf("%v; %d requests, errors %v", err, r.Requests, r.Errors)
	}
	for _, bad := range []string{"{}", `[{"url":"http://127.0.0.1/","mehtod":"PUT"},{"uri":""}]`, `[] []`} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := execute(t, "-n", "1", "--targets", file); err == nil || failure.CodeOf(err) != failure.Usage || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

func TestCloudEvents(t *testing.T) {
	for _, mode := range load.EventModes {
		out, err := execute(t, "-n", "40", "-c", "2", "--cloudevents", string(mode), "--body-size", "2048", "-o", "json", backend(t))
		if err != nil {
			t.Fatal(err)
		}
		var r load.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.StatusCodes[202] != 40 || len(r.Errors) > 0 || r.BytesOut < 40*2048 {
			t.Errorf("%s: %v; statuses %v, errors %v, %d bytes", mode, err, r.StatusCodes, r.Errors, r.BytesOut)
		}
	}
}

func TestText(t *testing.T) {
	out, err := execute(t, "-n", "100", "-c", "2", backend(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"closed loop, 2 connections", "verdict", "100 in", "no errors", "200: 100", "p99.9", "latency", "connect"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "records.parquet")
	if _, err := execute(t, "-r", "1000", "-d", "100ms", "--records", file, backend(t)); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.ReadFile[records.Row](file)
	if err != nil || len(rows) != 100 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	seen := map[uint64]bool{}
	for _, row := range rows {
		seen[row.Number] = true
		if row.Class != "ok" || row.Status != 200 || row.Sent == nil || row.Latency < *row.Service {
			t.Errorf("row %+v", row)
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d numbers", len(seen))
	}
}

// TestBadRequests: all that is wrong is told at once, as misuse.
func TestBadRequests(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.pem")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"want one URL, or --targets"}},
		{[]string{"http://a/", "http://b/"}, []string{"want one URL, or --targets, got 2"}},
		{[]string{"--rate", "fast", "--protocol", "smtp", "--fresh", "3", "--header", "nothing", "--source", "here", "http://127.0.0.1/"},
			[]string{`"fast"`, "smtp", "fresh: 3", `"nothing"`, "here"}},
		{[]string{"--body", "a", "--body-file", missing, "http://127.0.0.1/"}, []string{"exclude each other", "none.pem"}},
		{[]string{"--rate", "10/1s", "--duration", "3s", "http://127.0.0.1/"}, []string{"--duration"}},
		{[]string{"--cacert", missing, "https://127.0.0.1/"}, []string{"none.pem"}},
		{[]string{"--streams", "3", "http://127.0.0.1/"}, []string{"one request at a time"}},
		{[]string{"--targets", missing, "http://127.0.0.1/"}, []string{"want one URL, or --targets"}},
		{[]string{"--targets", missing, "--method", "PUT"}, []string{"none.pem", "--method"}},
		{[]string{"--cloudevents", "loud", "http://127.0.0.1/"}, []string{"loud"}},
		{[]string{"--body-size", "-1", "http://127.0.0.1/"}, []string{"--body-size -1"}},
		{[]string{"127.0.0.1:80"}, []string{"127.0.0.1:80"}},
	} {
		_, err := execute(t, c.args...)
		if err == nil || failure.CodeOf(err) != failure.Usage {
			t.Errorf("%q: %v, code %v", c.args, err, failure.CodeOf(err))
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v does not name %q", c.args, err, want)
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	url := backend(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var out bytes.Buffer
	cmd := New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &bytes.Buffer{}})
	cmd.SetArgs([]string{"-r", "100", "-d", "1h", "-o", "json", url})
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	var r load.Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Requests == 0 || r.Seconds > 60 {
		t.Errorf("%v; %d requests in %v s", err, r.Requests, r.Seconds)
	}
}

// TestUnwritableRecords fails before anything is sent.
func TestUnwritableRecords(t *testing.T) {
	_, err := execute(t, "-n", "1", "--records", filepath.Join(t.TempDir(), "none", "f"), "http://127.0.0.1:1/")
	if err == nil || !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("got %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}
