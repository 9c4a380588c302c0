package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A machine is a node of files: the cgroups of either version, and processes.
// Folders are made and removed as the kernel does, and the sampler is told by
// the same inotify.
type machine struct {
	t             *testing.T
	version       int
	cgroups, proc string
}

func newMachine(t *testing.T, version int) *machine {
	m := &machine{t, version, t.TempDir(), t.TempDir()}
	if version == 2 {
		m.write(filepath.Join(m.cgroups, "cgroup.controllers"), "cpu memory")
	}
	m.write(filepath.Join(m.proc, "meminfo"), "MemTotal:       1000 kB\nMemFree:         400 kB\nInactive(file):  100 kB\n")
	m.use("/", 0, 0)
	return m
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	// In one step, as a read of the kernel's is: nobody sees half a file.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(fmt.Sprintf("%-64s\n", text)), 0); err != nil {
		m.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		m.t.Fatal(err)
	}
}

// use sets what a cgroup has used: nanoseconds, of whole microseconds, and
// bytes, of which 1000 are inactive page cache. It makes the cgroup where there
// is none, and those above it.
func (m *machine) use(path string, cpu, memory int) {
	m.t.Helper()
	if path != "/" && !isDir(m.accounts(path)) {
		if above := filepath.Dir(path); above != "/" && !isDir(m.accounts(above)) {
			m.use(above, 0, 0)
		}
		// Its files are there when it appears, as they are in the kernel.
		staged := &machine{m.t, m.version, m.t.TempDir(), ""}
		staged.fill("/x", cpu, memory)
		if m.version == 1 {
			m.move(filepath.Join(staged.cgroups, "memory/x"), filepath.Join(m.cgroups, "memory", path))
		}
		m.move(staged.accounts("/x"), m.accounts(path))
		return
	}
	m.fill(path, cpu, memory)
}

// accounts is where a cgroup's CPU time is.
func (m *machine) accounts(path string) string {
	if m.version == 2 {
		return filepath.Join(m.cgroups, path)
	}
	return filepath.Join(m.cgroups, "cpuacct", path)
}

func (m *machine) move(from, to string) {
	m.t.Helper()
	if err := os.Rename(from, to); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) fill(path string, cpu, memory int) {
	m.t.Helper()
	dir := m.accounts(path)
	if m.version == 2 {
		m.write(filepath.Join(dir, "memory.current"), fmt.Sprint(memory))
		m.write(filepath.Join(dir, "memory.stat"), "anon 5\ninactive_file 1000")
		m.write(filepath.Join(dir, "cpu.stat"), fmt.Sprintf("usage_usec %d", cpu/1000))
		return
	}
	memoryDir := filepath.Join(m.cgroups, "memory", path)
	m.write(filepath.Join(memoryDir, "memory.usage_in_bytes"), fmt.Sprint(memory))
	m.write(filepath.Join(memoryDir, "memory.stat"), "total_rss 5\ntotal_inactive_file 1000")
	m.write(filepath.Join(dir, "cpuacct.usage"), fmt.Sprint(cpu))
}

// remove removes a cgroup.
func (m *machine) remove(path string) {
	m.t.Helper()
	for _, hierarchy := range []string{"memory", "cpuacct", ""} {
		if m.version == 1 && hierarchy == "" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(m.cgroups, hierarchy, path)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// pod is where a pod's cgroup is.
func (m *machine) pod(n int) string {
	if m.version == 2 {
		return "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(uid(n), "-", "_") + ".slice"
	}
	return "/gatemark/x/pods/kubepods/burstable/pod" + uid(n)
}

// container is where a container's cgroup is.
func (m *machine) container(pod, n int) string {
	if m.version == 2 {
		return m.pod(pod) + "/cri-containerd-" + id(n) + ".scope"
	}
	return m.pod(pod) + "/" + id(n)
}

// process puts a process into a container, in a network with these counters.
func (m *machine) process(pid int, container string, in, out int) {
	m.write(filepath.Join(m.proc, fmt.Sprint(pid), "cgroup"), "4:memory:"+container)
	m.network(pid, in, out)
}

func (m *machine) network(pid, in, out int) {
	path := filepath.Join(m.proc, fmt.Sprint(pid), "net/dev")
	m.write(path, `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    5000      10    0    0    0     0          0         0     5000      10    0    0    0     0       0          0
  eth0: `+fmt.Sprintf("%10d       1    0    0    0     0          0         0 %10d       1    0    0    0     0       0          0", in, out))
}

func uid(n int) string { return fmt.Sprintf("%08d-0000-0000-0000-000000000000", n) }

func id(n int) string { return fmt.Sprintf("%064d", n) }
