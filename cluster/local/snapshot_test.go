package local_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/cluster/local/cgroup"
	"github.com/google/go-cmp/cmp"
)

// A snapshot is what a cluster could leave on the host. Other programs come
// and go meanwhile, so that processes and files count only where they bear a
// mark of a cluster's: its state directory or its programs.
type snapshot map[string][]string

func takeSnapshot(t *testing.T, stateDir, name string) snapshot {
	t.Helper()
	return snapshot{
		"processes":  processes(t, stateDir, name),
		"mounts":     grep(t, "/proc/self/mountinfo", "gatemark", stateDir),
		"interfaces": interfaces(t),
		"firewall":   output(t, "nft", "list", "ruleset"),
		"routes":     grep(t, "/proc/net/route", "10.96.", "node0"),
		"cgroups":    cgroups(t, name),
		"files":      files(t, stateDir),
		"sysctls":    sysctls(t),
		"sockets":    grep(t, "/proc/net/unix", stateDir),
	}
}

// sameAs waits for a moment: interfaces of a namespace that ended are removed
// by the kernel when it gets to it.
func (s snapshot) sameAs(t *testing.T, stateDir, name string) {
	t.Helper()
	var diff string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if diff = cmp.Diff(s, takeSnapshot(t, stateDir, name)); diff == "" {
			return
		}
	}
	t.Errorf("the host is not as it was (-before +after):\n%s", diff)
}

func processes(t *testing.T, stateDir, name string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, dir := range dirs {
		args, err := os.ReadFile(dir + "/cmdline")
		if err != nil {
			continue // it has ended
		}
		line := strings.ReplaceAll(string(args), "\x00", " ")
		cgroup, _ := os.ReadFile(dir + "/cgroup") // likewise
		ns, _ := os.Readlink(dir + "/ns/net")
		marked := strings.Contains(line, stateDir) || strings.Contains(string(cgroup), "/gatemark/"+name)
		if marked && ns != "" && ns != own {
			found = append(found, fmt.Sprintf("%s %s %s", dir, ns, line))
		}
	}
	return found
}

func grep(t *testing.T, file string, marks ...string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := []string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(lines.Text(), m) }) {
			found = append(found, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func interfaces(t *testing.T) []string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

func output(t *testing.T, name string, args ...string) []string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.Split(string(out), "\n")
}

func cgroups(t *testing.T, name string) []string {
	t.Helper()
	hierarchies, err := cgroup.Hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, h := range hierarchies {
		err := filepath.WalkDir(filepath.Join(h.Path, "gatemark", name), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && d.IsDir() {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// files lists the places that a node's components write to by default, and
// the state directory, whose lock files may stay.
func files(t *testing.T, stateDir string) []string {
	t.Helper()
	found := []string{}
	for _, pattern := range []string{
		"/run/containerd*", "/run/netns/*", "/run/xtables.lock", "/run/kubernetes*", "/run/runc*", "/run/cni*", "/run/nri*", "/run/sysctl",
		"/var/lib/kubelet*", "/var/lib/cni*", "/var/lib/containerd*", "/var/lib/kube-proxy*", "/var/log/pods*", "/var/log/containers*", "/var/log/kube*",
		"/etc/cni*", "/etc/kubernetes*", "/opt/cni*", "/opt/containerd*", stateDir + "/*",
	} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range matches {
			if !strings.HasSuffix(m, ".lock") {
				found = append(found, m)
			}
		}
	}
	return found
}

// sysctls of the whole machine that kubelet or kube-proxy would set.
func sysctls(t *testing.T) []string {
	t.Helper()
	found := []string{}
	for _, name := range []string{
		"kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
		"vm/overcommit_memory", "vm/panic_on_oom", "net/netfilter/nf_conntrack_max", "net/ipv4/ip_forward", "net/core/somaxconn",
	} {
		value, err := os.ReadFile("/proc/sys/" + name)
		if err == nil {
			found = append(found, name+"="+strings.TrimSpace(string(value)))
		}
	}
	return found
}
