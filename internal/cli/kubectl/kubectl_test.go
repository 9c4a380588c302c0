package kubectl

import (
	"errors"
	"testing"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		args []string
		name string
		rest []string
	}{
		{nil, local.DefaultName, nil},
		{[]string{"get", "pods", "--name", "x"}, local.DefaultName, []string{"get", "pods", "--name", "x"}},
		{[]string{"--name", "x", "get"}, "x", []string{"get"}},
		{[]string{"--name=x", "-n", "y"}, "x", []string{"-n", "y"}},
		{[]string{"--", "get", "pods"}, local.DefaultName, []string{"get", "pods"}},
		{[]string{"--name", "x", "--", "exec", "p", "--", "ls"}, "x", []string{"exec", "p", "--", "ls"}},
	} {
		name, rest, err := split(tt.args)
		if err != nil || name != tt.name || !cmp.Equal(rest, tt.rest) {
			t.Errorf("%q: %s, %q, %v", tt.args, name, rest, err)
		}
	}
	if _, _, err := split([]string{"--name"}); failure.CodeOf(err) != failure.Usage {
		t.Errorf("--name without a name: %v", err)
	}
}

func TestEnvironmentReplaces(t *testing.T) {
	got := environment([]string{"A=1", "KUBECONFIG=old", "B=2"}, map[string]string{"KUBECONFIG": "new", "C": "3"})
	if diff := cmp.Diff([]string{"A=1", "B=2", "C=3", "KUBECONFIG=new"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutACluster(t *testing.T) {
	t.Setenv("GATEMARK_STATE_DIR", t.TempDir())
	cmd := newCommand(cli.Streams{}, func(string, []string, []string) error {
		t.Error("kubectl was run")
		return nil
	})
	cmd.SetArgs([]string{"get", "pods"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); !errors.Is(err, local.ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
}
