package kube

import (
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gatemark/gatemark/internal/failure"
)

func TestNewSaysWhatCannotBeReached(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	started := time.Now()
	_, err = New(t.Context(), &rest.Config{Host: "https://" + address}, Patience(300*time.Millisecond))
	if err == nil {
		t.Fatal("connected to a closed port")
	}
	if !strings.Contains(err.Error(), "cannot reach the cluster at https://"+address) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error does not name host and cause: %v", err)
	}
	if time.Since(started) < 250*time.Millisecond {
		t.Error("gave up before its patience ended: an API server that starts refuses for a while")
	}
	if len(failure.Hints(err)) == 0 {
		t.Error("no hint")
	}
}

func TestNewWaitsForAStartingServer(t *testing.T) {
	server, _ := startFake(t)
	server.Refuse(true)
	time.AfterFunc(200*time.Millisecond, func() { server.Refuse(false) })
	c, err := New(t.Context(), server.Config(), Agent("test"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Version.GitVersion != "v1.0.0-fake" {
		t.Errorf("version %q", c.Version.GitVersion)
	}
	if c.Config.QPS != -1 || !strings.HasSuffix(c.Config.UserAgent, " (test)") {
		t.Errorf("QPS %v, user agent %q", c.Config.QPS, c.Config.UserAgent)
	}
}
