package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatemark/gatemark/measure/usage/cgroup"
)

// BenchmarkSample reads 500 pods of two containers each from this machine's own
// cgroups, none of which runs anything, and then all of them whole, as at a
// window's edge or where everything moves.
func BenchmarkSample(b *testing.B) {
	const pods = 500
	root := realPods(b, pods)
	s, err := New(Options{Cgroups: "/sys/fs/cgroup", Proc: "/proc", Pod: uid(0), Interval: time.Second, Token: "secret"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
	if got := len(s.byPath); got < 3*pods {
		b.Fatalf("%d groups below %s", got, root)
	}
	s.eachPod(s.pods, func(g *group) { g.search = 1<<63 - 1 }) // they have no processes
	for _, whole := range []bool{false, true} {
		b.Run(fmt.Sprintf("whole=%v", whole), func(b *testing.B) {
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				s.tick++
				s.visit(s.node, whole)
				// As if they had been read and fetched.
				s.log.mu.Lock()
				s.log.drop(len(s.log.readings))
				s.log.mu.Unlock()
			}
			// Beside others on the machine, time says less than CPU time.
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	b.Logf("%d groups, %.1f MiB of heap, %d open files", len(s.byPath), float64(memory.HeapAlloc)/(1<<20), openFiles(b))
}

func cpuTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func openFiles(b *testing.B) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		b.Fatal(err)
	}
	return len(entries)
}

// realPods makes empty cgroups of the kernel's own, and removes them.
func realPods(b *testing.B, n int) string {
	b.Helper()
	tree, err := cgroup.Open("/sys/fs/cgroup")
	if err != nil {
		b.Skip(err)
	}
	hierarchies := []string{"cpuacct", "cpu", "memory"}
	if tree.Version == 2 {
		hierarchies = []string{""}
	}
	name := fmt.Sprintf("gatemark-bench-%d", os.Getpid())
	var made []string
	b.Cleanup(func() {
		for i := range made {
			if err := os.Remove(made[len(made)-1-i]); err != nil {
				b.Error(err)
			}
		}
	})
	for _, h := range hierarchies {
		mkdir := func(path ...string) {
			dir := filepath.Join(append([]string{"/sys/fs/cgroup", h, name}, path...)...)
			if err := os.Mkdir(dir, 0o755); err != nil {
				b.Skip(err)
			}
			made = append(made, dir)
		}
		mkdir()
		mkdir("kubepods")
		for pod := range n {
			mkdir("kubepods", "pod"+uid(pod))
			mkdir("kubepods", "pod"+uid(pod), id(1))
			mkdir("kubepods", "pod"+uid(pod), id(2))
		}
	}
	return name
}
