package attacker

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/load/attacker"
)

// execute runs the command line, and returns the options that it came to.
func execute(t *testing.T, args ...string) (options, error) {
	t.Helper()
	var got options
	cmd := newCommand(cli.Streams{}, func(_ context.Context, o *options) error {
		got = *o
		return nil
	})
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return got, cmd.Execute()
}

func TestToken(t *testing.T) {
	t.Setenv(TokenVariable, "from the environment")
	o, err := execute(t)
	if err != nil || o.token != "from the environment" || o.address != ":8089" {
		t.Errorf("%+v, %v", o, err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o, err = execute(t, "--token-file", file, "--address", "127.0.0.1:1"); err != nil || o.token != "from the file" || o.address != "127.0.0.1:1" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err = execute(t, "--token-file", file+"s"); failure.CodeOf(err) != failure.Usage {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = execute(t, "--token-file", file); failure.CodeOf(err) != failure.Usage || len(failure.Hints(err)) == 0 {
		t.Errorf("an empty file: %v", err)
	}
	t.Setenv(TokenVariable, "")
	if _, err = execute(t); failure.CodeOf(err) != failure.Usage {
		t.Errorf("no token: %v", err)
	}
}

// TestServe: the command answers to the token, and ends with its context.
func TestServe(t *testing.T) {
	said := make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	o := &options{streams: cli.Streams{Err: firstLine(said)}, address: "127.0.0.1:0", token: "t"}
	go func() { served <- serve(ctx, o) }()
	address := strings.TrimSpace(strings.TrimPrefix(<-said, "attacker is told on "))
	f, err := attacker.NewFleet(t.Context(), "t", []attacker.Member{{Name: "a", Address: address}}, attacker.FleetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not end")
	}
}

type firstLine chan string

func (c firstLine) Write(p []byte) (int, error) {
	c <- string(bytes.TrimSpace(p))
	return len(p), nil
}

func TestServeRefusesATakenAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if err := serve(t.Context(), &options{address: taken.Addr().String(), token: "t"}); err == nil {
		t.Error("no error")
	}
}
