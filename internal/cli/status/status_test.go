package status

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/google/go-cmp/cmp"
)

func TestPrint(t *testing.T) {
	now := time.Unix(1000, 0)
	ready := true
	s := local.Status{
		Name: "some", State: local.Ready, Mode: local.Full, Version: "v1.2.3", NodeReady: &ready,
		Server: "https://127.0.0.1:1", Kubeconfig: "/k",
		Components: []local.ComponentStatus{
			{Name: "supervisor", PID: 12, Started: now.Add(-90 * time.Second)},
			{Name: "etcd", Started: now.Add(-time.Second), Restarts: 2},
		},
	}
	var out bytes.Buffer
	if err := print(&out, s, now); err != nil {
		t.Fatal(err)
	}
	want := `some: ready, mode full, Kubernetes v1.2.3, node ready
  server:     https://127.0.0.1:1
  kubeconfig: /k
  COMPONENT   PID  UP     RESTARTS
  supervisor  12   1m30s  0
  etcd        -    1s     2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrintLeftovers(t *testing.T) {
	var out bytes.Buffer
	if err := print(&out, local.Status{Name: "old", State: local.Ended, Dir: "/d/old"}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	want := "old: ended\n  it left files in /d/old; remove them with: gatemark down --name old\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONWithoutClusters(t *testing.T) {
	t.Setenv("GATEMARK_STATE_DIR", t.TempDir())
	var out bytes.Buffer
	cmd := New(cli.Streams{Out: &out})
	cmd.SetArgs([]string{"--output", "json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	var list []local.Status
	if err := json.Unmarshal(out.Bytes(), &list); err != nil || list == nil || len(list) != 0 {
		t.Errorf("not an empty list: %q (%v)", out.String(), err)
	}
}
