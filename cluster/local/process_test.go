package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/google/go-cmp/cmp"
)

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()
	})
	return cmd
}

func TestKillOnlyTheProcessThatWasRecorded(t *testing.T) {
	cmd := sleeper(t)
	p, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	later, otherBoot := p, p
	later.StartTicks++
	otherBoot.BootID = "another"
	for _, other := range []process{later, otherBoot, {}} {
		if alive, err := other.alive(); alive || err != nil {
			t.Errorf("%+v is said to be alive (%v)", other, err)
		}
		if err := other.kill(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if alive, err := p.alive(); !alive || err != nil {
		t.Fatalf("it is said to be gone (%v)", err)
	}
	if err := p.kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Not collected yet, but over.
	if alive, err := p.alive(); alive || err != nil {
		t.Errorf("it is said to be alive after it was killed (%v)", err)
	}
	if err := p.kill(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "process.json")
	if _, ok, err := readRecord(file); ok || err != nil {
		t.Errorf("a record that is not there: %v, %v", ok, err)
	}
	want := record{process: process{PID: 7, StartTicks: 8, BootID: "b"}, Name: "some", Mode: Full, NodeDir: "/n", Port: 9, Started: time.Unix(10, 0).UTC()}
	if err := want.write(file); err != nil {
		t.Fatal(err)
	}
	got, ok, err := readRecord(file)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readRecord(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("half a record: %v", err)
	}
}

func TestLock(t *testing.T) {
	dir := layout.Of(t.TempDir(), "some")
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, dir); err == nil || !strings.Contains(err.Error(), "another gatemark") {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	unlock, err = lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestFindAndDownWithoutACluster(t *testing.T) {
	state := t.TempDir()
	if _, err := Find(state, "some"); !errors.Is(err, ErrNotFound) || len(failure.Hints(err)) != 1 {
		t.Errorf("Find: %v, hints %q", err, failure.Hints(err))
	}
	if was, err := Down(t.Context(), state, "some"); was || err != nil {
		t.Errorf("Down: %v, %v", was, err)
	}
	if list, err := List(t.Context(), state); len(list) != 0 || err != nil {
		t.Errorf("List: %v, %v", list, err)
	}
	if _, err := Find(state, "Not A Name"); failure.CodeOf(err) != failure.Usage {
		t.Errorf("Find of a bad name: %v", err)
	}
}

// A cluster whose supervisor is gone is told as ended, and can be removed.
func TestLeftovers(t *testing.T) {
	state := t.TempDir()
	dir := layout.Of(state, "some")
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	if err := (record{Name: "some", Mode: ControlPlane}).write(dir.Process()); err != nil {
		t.Fatal(err)
	}
	list, err := List(t.Context(), state)
	if err != nil || len(list) != 1 || list[0].State != Ended || list[0].Name != "some" {
		t.Fatalf("List: %+v, %v", list, err)
	}
	if _, err := Find(state, "some"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Find: %v", err)
	}
	if was, err := Down(t.Context(), state, "some"); !was || err != nil {
		t.Errorf("Down: %v, %v", was, err)
	}
	if _, err := os.Stat(string(dir)); !os.IsNotExist(err) {
		t.Errorf("the directory is still there (%v)", err)
	}
}

func TestParseImages(t *testing.T) {
	table := `REF                    TYPE                                                 DIGEST                                                                  SIZE    PLATFORMS   LABELS
example.com/a:1        application/vnd.oci.image.manifest.v1+json           sha256:0000000000000000000000000000000000000000000000000000000000000001 1.2 MiB linux/amd64 io.cri-containerd.image=managed
`
	got, err := parseImages(table)
	if err != nil {
		t.Fatal(err)
	}
	want := []Image{{Name: "example.com/a:1", Digest: "sha256:0000000000000000000000000000000000000000000000000000000000000001"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := parseImages("REF TYPE DIGEST\na b c\n"); err == nil {
		t.Error("a line without a digest is accepted")
	}
}

func TestParseStatus(t *testing.T) {
	parent, inner := parseStatus([]byte("Name:\tetcd\nPPid:\t42\nNSpid:\t1000\t17\nOdd\n"))
	if parent != 42 || inner != 17 {
		t.Errorf("parent %d, inner %d", parent, inner)
	}
}

func TestMachineLacksRoot(t *testing.T) {
	lacks := machineLacks(Full, false)
	if len(lacks) == 0 || !strings.Contains(lacks[0].what, "root") || !strings.Contains(lacks[0].remedy, string(ControlPlane)) {
		t.Errorf("without root, %v is missing", lacks)
	}
}

func TestOptions(t *testing.T) {
	t.Setenv("GATEMARK_STATE_DIR", "/s")
	t.Setenv("GATEMARK_NODE_DIR", "/n")
	var o Options
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	if o.Name != DefaultName || o.Mode != Full || o.StateDir != "/s" || o.NodeDir != "/n" {
		t.Errorf("the defaults are %+v", o)
	}
	deep := Options{StateDir: "/" + strings.Repeat("deep/", 20)}
	if err := deep.complete(); err == nil || len(failure.Hints(err)) != 1 {
		t.Errorf("a path too long for sockets: %v", err)
	}
	deep.Mode = ControlPlane // has none
	if err := deep.complete(); err != nil {
		t.Error(err)
	}
}
