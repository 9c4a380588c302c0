package up

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
)

func TestBadRequests(t *testing.T) {
	t.Setenv("GATEMARK_STATE_DIR", t.TempDir())
	for want, args := range map[string][]string{
		`--mode "half"`:           {"--mode", "half"},
		`cluster name "Not Good"`: {"--name", "Not Good"},
	} {
		cmd := New(cli.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(args)
		err := cmd.Execute()
		if err == nil || !strings.Contains(err.Error(), want) || failure.CodeOf(err) != failure.Usage {
			t.Errorf("up %q: %v (code %d)", args, err, failure.CodeOf(err))
		}
	}
}
