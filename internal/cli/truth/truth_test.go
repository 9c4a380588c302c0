package truth

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
)

func execute(cmd *cobra.Command, args ...string) error {
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return cmd.Execute()
}

func TestControlFlags(t *testing.T) {
	var got *controlOptions
	run := func(_ context.Context, o *controlOptions) error { got = o; return nil }
	err := execute(newControl(cli.Streams{}, run), "--image", "i", "--url", "http://c", "--replicas", "3", "--faults", `{"status":5000000}`)
	if err != nil {
		t.Fatal(err)
	}
	if p := got.placement; p.Image != "i" || p.Control != "http://c" || p.Replicas != 3 || p.Faults.Status != 5*time.Millisecond {
		t.Errorf("got %+v", p)
	}
	for _, args := range [][]string{{}, {"--image", "i"}, {"--image", "i", "--url", "u", "--replicas", "0"}, {"--image", "i", "--url", "u", "--faults", "{"}} {
		if err := execute(newControl(cli.Streams{}, run), args...); failure.CodeOf(err) != failure.Usage {
			t.Errorf("%q: error %v", args, err)
		}
	}
}

func TestDataFlags(t *testing.T) {
	var got *dataOptions
	run := func(_ context.Context, o *dataOptions) error { got = o; return nil }
	if err := execute(newData(cli.Streams{}, run), "--gateway", "a/b", "--control", "http://c", "--faults", `{"errorEvery":2}`); err != nil {
		t.Fatal(err)
	}
	if got.source.Gateway != "a/b" || got.source.Control != "http://c" || !got.wrong.Now().Refuses(2) {
		t.Errorf("got %+v", got)
	}
	for _, args := range [][]string{{}, {"--gateway", "a/b"}, {"--gateway", "b", "--control", "c"}, {"--gateway", "a/b", "--control", "c", "--faults", "x"}} {
		if err := execute(newData(cli.Streams{}, run), args...); failure.CodeOf(err) != failure.Usage {
			t.Errorf("%q: error %v", args, err)
		}
	}
}

func TestOneCore(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	run := func(context.Context, *dataOptions) error { return nil }
	if err := execute(newData(cli.Streams{}, run), "--gateway", "a/b", "--control", "http://c", "--faults", `{"oneCore":true}`); err != nil {
		t.Fatal(err)
	}
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Errorf("a replica uses %d CPUs", n)
	}
}
