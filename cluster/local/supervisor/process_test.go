package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/internal/failure"
)

// testReaper collects every child of the test process, so that there is one
// for all tests.
var testReaper = newReaper()

func shell(dir layout.Dir, name, script string) component {
	return component{name: name, command: command{path: "/bin/sh", argv: []string{name, "-c", script}, log: dir.Log(name)}}
}

func newParts(t *testing.T) (*components, chan error) {
	t.Helper()
	ended := make(chan error, 1)
	dir := layout.Dir(settings(t, false).Dir)
	return &components{dir: dir, reaper: testReaper, ended: func(err error) { ended <- err }, running: map[string]*running{}}, ended
}

func TestComponentThatEndsFailsTheBringUp(t *testing.T) {
	parts, ended := newParts(t)
	if err := parts.start(shell(parts.dir, "some", "echo said; exit 3")); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if err.Error() != "some ended: exit status 3" {
		t.Errorf("the error is %q", err)
	}
	log, readErr := os.ReadFile(parts.dir.Log("some"))
	if readErr != nil || string(log) != "said\n" {
		t.Errorf("its log is %q (%v)", log, readErr)
	}
}

func TestComponentThatEndsLaterIsStartedAgain(t *testing.T) {
	parts, _ := newParts(t)
	// It ends the first time only.
	flag := filepath.Join(t.TempDir(), "flag")
	if err := parts.settled(); err != nil {
		t.Fatal(err)
	}
	if err := parts.start(shell(parts.dir, "some", "test -e "+flag+" && exec sleep 60; touch "+flag)); err != nil {
		t.Fatal(err)
	}
	var again running
	for end := time.Now().Add(30 * time.Second); again.restarts == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it was not started again")
		}
		parts.mu.Lock()
		again = *parts.running["some"]
		parts.mu.Unlock()
	}
	if err := syscall.Kill(again.pid, syscall.SIGKILL); err != nil {
		t.Errorf("it does not run: %v", err)
	}
}

func TestRunReportsItsExit(t *testing.T) {
	parts, _ := newParts(t)
	if err := parts.run(t.Context(), shell(parts.dir, "good", "exit 0")); err != nil {
		t.Error(err)
	}
	if err := parts.run(t.Context(), shell(parts.dir, "bad", "exit 4")); err == nil || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("the error is %v", err)
	}
	if err := parts.run(t.Context(), shell(parts.dir, "shot", "kill -9 $$")); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := parts.run(ctx, shell(parts.dir, "long", "sleep 60")); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("the error is %v", err)
	}
	if err := parts.run(t.Context(), component{name: "none", command: command{path: "/nowhere", argv: []string{"none"}, log: parts.dir.Log("none")}}); err == nil {
		t.Error("a program that does not exist was run")
	}
}

func TestWaitForSaysHowFarItGot(t *testing.T) {
	asked := 0
	err := waitFor(t.Context(), "the third", func(context.Context) error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("time is up"))
	defer cancel()
	err = waitFor(ctx, "godot", func(context.Context) error { return errors.New("he is late") })
	for _, want := range []string{"godot", "time is up", "he is late"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

// A failed step reaches the command with its name, its log's end, its hint.
func TestFailureText(t *testing.T) {
	s := settings(t, false)
	var log strings.Builder
	for range 100 {
		log.WriteString("an early line\n")
	}
	log.WriteString("the last line\n")
	if err := os.WriteFile(layout.Dir(s.Dir).Log("etcd"), []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ours, theirs := pipe(t)
	r := newReporter(theirs)
	go r.loop()
	err := r.step(t.Context(), "etcd", func(context.Context) error {
		return failure.Hint(about(component{name: "etcd"}, errors.New("it did not answer")), "look at it")
	})
	go r.failed(s, err)
	var got []handshake.Message
	for range 3 {
		m, err := ours.Receive()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	if got[0].Kind != handshake.StepBegun || got[1].Kind != handshake.StepFailed || got[1].Step != "etcd" {
		t.Errorf("the steps are %+v", got[:2])
	}
	last := got[2]
	if last.Kind != handshake.Failed || !strings.HasPrefix(last.Text, "etcd: it did not answer\n") || !strings.HasSuffix(last.Text, "the last line") {
		t.Errorf("the failure is %q", last.Text)
	}
	if n := strings.Count(last.Text, "\n"); n > 20 {
		t.Errorf("the failure has %d lines", n)
	}
	if len(last.Hints) != 1 || last.Hints[0] != "look at it" {
		t.Errorf("the hints are %q", last.Hints)
	}
}

// What ended a step is the component, not that the step was cut short.
func TestStepReportsTheComponentThatEnded(t *testing.T) {
	_, theirs := pipe(t)
	r := newReporter(theirs)
	ctx, cancel := context.WithCancelCause(t.Context())
	err := r.step(ctx, "kubelet", func(ctx context.Context) error {
		cancel(&componentError{name: "etcd", err: errors.New("etcd ended")})
		return ctx.Err()
	})
	if err == nil || err.Error() != "etcd ended" {
		t.Errorf("the error is %v", err)
	}
}
