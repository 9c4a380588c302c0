package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestProcess: output, usage, and an error that says what was run and what it
// said last.
func TestProcess(t *testing.T) {
	thread, err := NewThread(func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer thread.Close()
	run := func(script string) (*Process, error) {
		p, err := thread.Start(Command{Args: []string{"/bin/sh", "-c", script}, Env: []string{"WORD=yes"}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return p, p.Wait(ctx)
	}
	p, err := run("echo out $WORD; echo err >&2")
	stdout, stderr := p.Output()
	if err != nil || string(stdout) != "out yes\n" || string(stderr) != "err\n" || p.Used() <= 0 {
		t.Errorf("%q, %q, %v, %v", stdout, stderr, p.Used(), err)
	}
	if _, err := run("echo broken >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3: broken") || !strings.Contains(err.Error(), "/bin/sh -c") {
		t.Errorf("%v", err)
	}
}

// TestProcessesEnd: with their context, when asked to, and with their thread.
func TestProcessesEnd(t *testing.T) {
	thread, err := NewThread(func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	start := func(script string) *Process {
		p, err := thread.Start(Command{Args: []string{"/bin/sh", "-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := start("exec sleep 60").Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a process past its deadline: %v", err)
	}
	if err := start("exec sleep 60").Stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	orphan := start("exec sleep 60")
	if err := thread.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-orphan.Ended():
	case <-time.After(10 * time.Second):
		t.Errorf("a process outlives its thread: %v", orphan.Kill())
	}
}

// TestNetwork: both ways lead to the server's namespace, and to nowhere else.
func TestNetwork(t *testing.T) {
	n, err := Open()
	if err != nil {
		if os.Geteuid() != 0 || strings.Contains(err.Error(), "cores 0 and 1") {
			t.Skipf("this machine is too small, or this user may not: %v", err)
		}
		t.Fatal(err)
	}
	defer n.Close()
	if n.Without != "" {
		t.Skip(n.Without)
	}
	var l net.Listener
	if err := n.Server.Do(func() (err error) { l, err = net.Listen("tcp4", "0.0.0.0:0"); return err }); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dial := func(address string) func() error {
		return func() error {
			c, err := net.DialTimeout("tcp", address, 2*time.Second)
			if err != nil {
				return err
			}
			return c.Close()
		}
	}
	for _, p := range n.Paths {
		if err := p.Attacker.Do(dial(net.JoinHostPort(p.Host, port))); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if err := dial(net.JoinHostPort(loopback, port))(); err == nil {
		t.Error("the server is reached from the test's own namespace")
	}
	if err := n.Paths[1].Attacker.Do(dial("192.0.2.1:80")); err == nil || !strings.Contains(err.Error(), "network is unreachable") {
		t.Errorf("there is a way out: %v", err)
	}
}

// TestNginx: it answers on each service, and counts.
func TestNginx(t *testing.T) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("no nginx in PATH")
	}
	n, err := Open()
	if err != nil {
		t.Skip(err)
	}
	defer n.Close()
	s, err := StartNginx(t.Context(), n.Server, path, t.TempDir(), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Served()
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.Served()
	if err != nil || after != before+1 {
		t.Errorf("%d, then %d, %v", before, after, err)
	}
	if got, err := s.Negotiated(); err != nil || got != "TLS 1.3, TLS_AES_128_GCM_SHA256" {
		t.Errorf("negotiated %q, %v", got, err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

func TestURLs(t *testing.T) {
	p := Path{Host: "127.0.0.1"}
	seen := map[string]Service{}
	for service, scheme := range map[Service]string{HTTP: "http", HTTPS: "https", H2C: "http", H2TLS: "https", GRPC: "http"} {
		url := service.URL(p)
		if !strings.HasPrefix(url, fmt.Sprintf("%s://127.0.0.1:", scheme)) {
			t.Errorf("%s: %s", service, url)
		}
		if other, ok := seen[url]; ok {
			t.Errorf("%s and %s share %s", service, other, url)
		}
		seen[url] = service
	}
}
