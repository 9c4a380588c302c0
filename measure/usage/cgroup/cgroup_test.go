package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	uid = "0f8fad5b-d9cb-469f-a165-70867728950e"
	id  = "abababababababababababababababababababababababababababababababab"
)

func read(t *testing.T, tree *Tree, path string) Counters {
	t.Helper()
	g, err := tree.Group(path)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	cpu, err := g.CPU()
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Read(cpu)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRecorded reads file trees as the kernel writes them. What a number ought
// to come to was worked out by hand.
func TestRecorded(t *testing.T) {
	for _, c := range []struct {
		root, pod string
		version   int
		want      Counters
		node      Counters
	}{
		{"testdata/v1", "/kubepods/burstable/pod" + uid, 1,
			Counters{CPU: 30784493129679, Throttled: 512345678, Usage: 335544320, WorkingSet: 335544320 - 81403084, Anon: 204464128, Peak: 402653184,
				StallCPU: Unknown, StallMemory: Unknown, StallIO: Unknown},
			Counters{CPU: 40784493129679, Usage: 1535544320, WorkingSet: 1535544320 - 81403084, Anon: 204464128, Peak: 9223372036854771712,
				StallCPU: Unknown, StallMemory: Unknown, StallIO: Unknown}},
		{"testdata/v2", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice", 2,
			Counters{CPU: 123456789000, Throttled: 678901000, Usage: 320864256, WorkingSet: 320864256 - 73400320, Anon: 209715200, Peak: 340864256,
				StallCPU: 4567890000, StallMemory: 1500000, StallIO: 25000000},
			Counters{CPU: 987654321000, Throttled: Unknown, Usage: Unknown, WorkingSet: Unknown, Anon: 209715200, Peak: Unknown,
				StallCPU: Unknown, StallMemory: Unknown, StallIO: Unknown}},
	} {
		t.Run(c.root, func(t *testing.T) {
			tree, err := Open(c.root)
			if err != nil {
				t.Fatal(err)
			}
			if tree.Version != c.version {
				t.Errorf("version %d", tree.Version)
			}
			found, err := tree.Find(func(name string) bool { got, ok := Pod(name); return ok && got == uid })
			if err != nil || found != c.pod {
				t.Fatalf("the pod is at %q, %v", found, err)
			}
			if tree.Path(tree.Dir(found)) != found {
				t.Errorf("%s is not where it is: %s", found, tree.Path(tree.Dir(found)))
			}
			if diff := cmp.Diff(c.want, read(t, tree, c.pod)); diff != "" {
				t.Errorf("the pod (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.node, read(t, tree, "/")); diff != "" {
				t.Errorf("the node (-want +got):\n%s", diff)
			}
			children, err := tree.Children(c.pod)
			if err != nil || len(children) != 1 {
				t.Fatalf("children %q, %v", children, err)
			}
			if got, ok := Container(children[0]); !ok || got != id {
				t.Errorf("container %q of %s", got, children[0])
			}
			if _, err := tree.Group("/kubepods/none"); !errors.Is(err, ErrGone) {
				t.Errorf("a cgroup that is not there: %v", err)
			}
			if _, err := tree.Children("/kubepods/none"); !errors.Is(err, ErrGone) {
				t.Errorf("children of a cgroup that is not there: %v", err)
			}
		})
	}
}

// TestThisMachine reads the cgroups of the machine that the test runs on: it
// has used CPU, and uses more.
func TestThisMachine(t *testing.T) {
	tree, err := Open("/sys/fs/cgroup")
	if err != nil {
		t.Skip(err)
	}
	first := read(t, tree, "/")
	for i := range 1 << 20 {
		_ = i * i
	}
	if second := read(t, tree, "/"); first.CPU <= 0 || second.CPU < first.CPU {
		t.Errorf("CPU time %d, then %d", first.CPU, second.CPU)
	}
}

// TestRemoved: of a cgroup that is gone, an open file tells so.
func TestRemoved(t *testing.T) {
	tree, err := Open("/sys/fs/cgroup")
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp(tree.Dir("/"), "gatemark-test-")
	if err != nil {
		t.Skip(err)
	}
	g, err := tree.Group(tree.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if cpu, err := g.CPU(); cpu != 0 || err != nil {
		t.Errorf("a new cgroup used %d: %v", cpu, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := g.CPU(); !errors.Is(err, ErrGone) {
		t.Errorf("of one that is gone: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	none, idle := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(idle, "cgroup.controllers"), []byte("pids\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{none, idle} {
		if _, err := Open(root); err == nil {
			t.Errorf("%s was taken for cgroups", root)
		}
	}
}

func TestBrokenFiles(t *testing.T) {
	for _, text := range []string{"", "12a", "-1", "99999999999999999999"} {
		if n, err := number([]byte(text)); err == nil {
			t.Errorf("number %q is %d", text, n)
		}
	}
	if n, err := number([]byte("max\n")); n != Unknown || err != nil {
		t.Errorf("max is %d, %v", n, err)
	}
	if n, err := field([]byte("anon_thp 5\nanon 7"), "anon"); n != 7 || err != nil {
		t.Errorf("anon is %d, %v", n, err)
	}
	if _, err := field([]byte("anon_thp 5\n"), "anon"); err == nil {
		t.Error("a line that is not there was found")
	}
	for _, text := range []string{"", "some avg10=0.00\n", "full avg10=0.00 total=3\n"} {
		if n, err := Stall([]byte(text)); err == nil {
			t.Errorf("pressure %q is %d", text, n)
		}
	}
}

func TestNames(t *testing.T) {
	const slices = "0f8fad5b_d9cb_469f_a165_70867728950e"
	for name, want := range map[string]string{
		"pod" + uid: uid,
		"kubepods-burstable-pod" + slices + ".slice": uid,
		"kubelet-kubepods-pod" + slices + ".slice":   uid,
		"pod0123456789abcdef0123456789abcdef":        "0123456789abcdef0123456789abcdef", // from a file
		"kubepods":                                   "",
		"kubepods-burstable.slice":                   "",
		"podman":                                     "",
		"pod-" + uid:                                 "",
		"cri-containerd-" + id + ".scope":            "",
	} {
		if got, ok := Pod(name); got != want || ok != (want != "") {
			t.Errorf("Pod(%q) = %q, %v", name, got, ok)
		}
	}
	for name, want := range map[string]string{
		id: id, "cri-containerd-" + id + ".scope": id, "crio-" + id + ".scope": id, "docker-" + id + ".scope": id,
		"pod" + uid: "", "crio-conmon-" + id[:60] + ".scope": "", "init.scope": "",
	} {
		if got, ok := Container(name); got != want || ok != (want != "") {
			t.Errorf("Container(%q) = %q, %v", name, got, ok)
		}
	}
	for name, want := range map[string]bool{"kubepods": true, "kubepods.slice": true, "kubelet-kubepods.slice": true, "kubepods-burstable.slice": false, "pods": false} {
		if PodsRoot(name) != want {
			t.Errorf("PodsRoot(%q) = %v", name, !want)
		}
	}
	if got, ok := PodOf("4:memory:/gatemark/a/pods/kubepods/besteffort/pod" + uid + "/" + id); got != uid || !ok {
		t.Errorf("PodOf = %q, %v", got, ok)
	}
}
