package echo

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/echo/fault"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
)

func TestFlags(t *testing.T) {
	var got echo.Options
	cmd := newCommand(cli.Streams{}, func(_ context.Context, o *options) error {
		got = o.server
		return nil
	})
	cmd.SetArgs([]string{"--listen", "127.0.0.1:1", "--admin", "", "--pod", "p", "--drain", "2s"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := echo.Options{Listen: "127.0.0.1:1", Pod: "p", Drain: 2 * time.Second, EventStatus: 202}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRunServesUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	o := &options{streams: cli.Streams{Err: &said}, server: echo.Options{Listen: "127.0.0.1:0", Admin: "127.0.0.1:0"}}
	if err := run(ctx, o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "answering on 127.0.0.1:") || !strings.Contains(said.String(), "/counters") {
		t.Errorf("said %q", said.String())
	}
}

func TestRunRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	err = run(t.Context(), &options{server: echo.Options{Listen: taken.Addr().String()}})
	if err == nil || len(failure.Hints(err)) == 0 {
		t.Errorf("a port that is taken: %v, with hints %v", err, failure.Hints(err))
	}
}

func TestAllBadFlagsAreToldAtOnce(t *testing.T) {
	o := &options{
		server: echo.Options{Drain: -time.Second, EventStatus: 500, TLS: echo.TLS{Certificate: "c", RequireClient: true}},
		faults: `{"rules":[{"status":{"code":1}},{"x":1}]}`, delay: -1,
	}
	err := run(t.Context(), o)
	if failure.CodeOf(err) != failure.Usage {
		t.Errorf("code %v", failure.CodeOf(err))
	}
	for _, want := range []string{
		"--drain -1s", "--delay -1ns", "--event-status 500", "need --tls", "need each other", "needs --client-ca",
		"rules[0].status.code: 1", `"rules[1].x"`, "rules[1]: has 0 kinds",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if err := run(t.Context(), &options{faults: "@none.json"}); failure.CodeOf(err) != failure.Usage {
		t.Errorf("a missing file: %v", err)
	}
}

func TestFaultsFromFileAndDelay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults.json")
	if err := os.WriteFile(file, []byte(`{"rules":[{"every":2,"close":{}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &options{faults: "@" + file, delay: 5 * time.Millisecond}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	want := []fault.Rule{{Name: "--delay", Delay: &fault.Delay{Fixed: "5ms"}}, {Every: 2, Close: &fault.Close{}}}
	if diff := cmp.Diff(want, o.server.Faults.Rules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
