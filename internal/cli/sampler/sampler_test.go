package sampler

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/measure/usage/sampler"
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

func TestOptions(t *testing.T) {
	t.Setenv(TokenVariable, "secret")
	t.Setenv(PodVariable, "uid")
	o, err := execute(t)
	if err != nil || o.Token != "secret" || o.Pod != "uid" || o.address != ":8090" || o.Interval != time.Second || o.Cgroups != "/sys/fs/cgroup" || o.Proc != "/proc" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = execute(t, "--interval", "100ms", "--cgroups", "/a", "--proc", "/b"); err != nil || o.Interval != 100*time.Millisecond || o.Cgroups != "/a" || o.Proc != "/b" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := execute(t, "--interval", "99ms"); failure.CodeOf(err) != failure.Usage {
		t.Errorf("too short an interval: %v", err)
	}
	for _, name := range []string{TokenVariable, PodVariable} {
		t.Setenv(name, "")
		if _, err := execute(t); failure.CodeOf(err) != failure.Usage || !strings.Contains(err.Error(), name) {
			t.Errorf("without $%s: %v", name, err)
		}
		t.Setenv(name, "x")
	}
}

func TestServeSaysWhyItCannot(t *testing.T) {
	o := &options{Options: sampler.Options{Cgroups: t.TempDir(), Proc: t.TempDir(), Pod: "uid", Token: "secret"}, address: "127.0.0.1:0"}
	if err := serve(t.Context(), o); err == nil || !strings.Contains(err.Error(), "cgroup") {
		t.Errorf("error %v", err)
	}
}
