package echo

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/echo"
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
	want := echo.Options{Listen: "127.0.0.1:1", Pod: "p", Drain: 2 * time.Second}
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
	err = run(t.Context(), &options{server: echo.Options{Drain: -time.Second}})
	if failure.CodeOf(err) != failure.Usage || errors.Unwrap(err) == nil {
		t.Errorf("a negative drain: %v", err)
	}
}
