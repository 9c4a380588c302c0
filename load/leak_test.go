package load

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestNothingIsLeft: short attacks leave no goroutine, thread's processor or
// descriptor.
func TestNothingIsLeft(t *testing.T) {
	s := serve(t, nil, ok)
	runs := 25 // on each engine
	if os.Getenv("GATEMARK_E2E") != "" {
		runs = 500
	}
	engines(t, func(t *testing.T, engine Engine) {
		attackOn(t, engine, s.url(), func(o *Options) { o.Requests = 10 }) // what is made once
		settle(s)
		goroutines, fds, processors := runtime.NumGoroutine(), descriptors(t), runtime.GOMAXPROCS(0)
		for range runs {
			attackOn(t, engine, s.url(), func(o *Options) { o.Requests = 10 })
		}
		settle(s)
		for range 100 {
			if runtime.NumGoroutine() <= goroutines {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if g, f, p := runtime.NumGoroutine(), descriptors(t), runtime.GOMAXPROCS(0); g > goroutines || f > fds || p != processors {
			t.Errorf("%d goroutines, %d descriptors, %d processors; before %d, %d, %d", g, f, p, goroutines, fds, processors)
		}
	})
}

// settle waits until the server has seen its connections end.
func settle(s *testServer) {
	for range 500 {
		s.mu.Lock()
		open := 0
		for c := range s.conns {
			_ = c.SetReadDeadline(time.Now())
			open++
		}
		clear(s.conns)
		s.mu.Unlock()
		if open == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestAllocations: an attack allocates for its start and its seconds, not for
// its requests.
func TestAllocations(t *testing.T) {
	// The server is another process's: this one's allocations are the attack's.
	engines(t, func(t *testing.T, engine Engine) {
		url := elsewhere(t)
		allocations := func(n uint64) (count uint64, packed int) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := attackOn(t, engine, url, func(o *Options) { o.Requests, o.Threads = n, 1 })
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs, max(0, len(r.Slices)-unpacked)
		}
		allocations(1000)
		few, _ := allocations(1000)
		many, packed := allocations(50_000)
		// A slow machine takes seconds, and packs their histograms.
		limit := int64(2000 + 15_000*packed)
		if extra := int64(many) - int64(few); extra > limit {
			t.Errorf("49000 requests more took %d allocations more, with %d slices packed; want at most %d", extra, packed, limit)
		}
	})
}

// TestExhaustion runs in a network namespace with hardly any ports.
func TestExhaustion(t *testing.T) {
	if os.Getenv("GATEMARK_TEST_PORTS") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestExhaustion$", "-test.v")
		cmd.Env = append(os.Environ(), "GATEMARK_TEST_PORTS=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		if err != nil && strings.Contains(err.Error(), "operation not permitted") {
			t.Skip("network namespaces are forbidden here")
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	loopbackUp(t)
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40009"), 0); err != nil {
		t.Fatal(err)
	}
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, ok)
		r := attackOn(t, engine, s.url(), func(o *Options) { o.Rate, o.Connections = Steady(1000, 50*time.Millisecond), 16 })
		if r.Errors[AddressExhausted] == 0 || len(r.Errors) != 1 || r.Verdict != AttackerLimited || r.Self.Exhausted == 0 {
			t.Errorf("errors %v, verdict %v, exhausted %d", r.Errors, r.Verdict, r.Self.Exhausted)
		}
		// A second address has ports of its own.
		r = attackOn(t, engine, s.url(), func(o *Options) {
			o.Rate, o.Connections, o.Sources = Steady(1000, 50*time.Millisecond), 6, parseAddrs(t, "127.0.0.2", "127.0.0.3", "127.0.0.4")
		})
		if len(r.Errors) > 0 {
			t.Errorf("with three addresses: errors %v", r.Errors)
		}
	})
}

func loopbackUp(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	ifreq, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	ifreq.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifreq); err != nil {
		t.Fatal(err)
	}
}

// elsewhere starts a server in a process of its own and returns its URL.
func elsewhere(t *testing.T) string {
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerElsewhere$")
	cmd.Env = append(os.Environ(), "GATEMARK_TEST_SERVER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		_ = cmd.Wait()
	})
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n]))
}

// TestServerElsewhere is the server of elsewhere; it ends with its input.
func TestServerElsewhere(t *testing.T) {
	if os.Getenv("GATEMARK_TEST_SERVER") == "" {
		t.Skip("it is a server for another test")
	}
	s := serve(t, nil, ok)
	if _, err := os.Stdout.WriteString(s.url() + "\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}
