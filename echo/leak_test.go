package echo

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"
)

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("descriptors cannot be counted here:", err)
	}
	return len(entries)
}

// TestNothingIsLeft starts and stops servers with open connections of every
// protocol, some of them in the middle of a fault.
func TestNothingIsLeft(t *testing.T) {
	once := func() {
		s, err := Listen(Options{Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", TLS: TLS{Listen: "127.0.0.1:0"},
			Faults: faults(t, `{"rules":[{"match":{"path":"/hang"},"hang":{}},{"match":{"path":"/wait"},"delay":{"fixed":"1h"}}]}`)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Serve(ctx) }()
		plain := &http.Client{Transport: &http.Transport{}}
		secure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
		second := h2c(t)
		socket, _ := dialWebSocket(t, s)
		for client, url := range map[*http.Client]string{
			plain: "http://" + s.Address().String(), second: "http://" + s.Address().String(), secure: "https://" + s.TLSAddress().String(),
		} {
			if _, _, err := fetch(client, url+"/"); err != nil {
				t.Error(err)
			}
			for _, path := range []string{"/hang", "/wait"} {
				go fetch(client, url+path)
			}
		}
		eventually(t, "requests that hang", func() bool { return s.Counters().InFlight == 6 })
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		socket.CloseNow()
		for _, client := range []*http.Client{plain, secure, second} {
			client.CloseIdleConnections()
		}
	}
	once() // what the process makes once and keeps
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	for range 5 {
		once()
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines || descriptors(t) > files; {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines and %d descriptors, before %d and %d\n%s",
				runtime.NumGoroutine(), descriptors(t), goroutines, files, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(5 * time.Millisecond)
	}
}
