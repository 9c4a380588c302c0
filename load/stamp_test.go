package load

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestReceiveTime: while an attacker stands still, an answer comes. By the
// kernel's clock it came when it came; by the attacker's, when it woke up.
func TestReceiveTime(t *testing.T) {
	if url := os.Getenv("GATEMARK_TEST_ATTACK"); url != "" {
		standStill(t, url)
		return
	}
	const still = 300 * time.Millisecond
	engines(t, func(t *testing.T, engine Engine) {
		for _, of := range []ReceiveTime{KernelTime, LoopTime} {
			attacker := exec.Command(os.Args[0], "-test.run=^TestReceiveTime$")
			started := make(chan struct{})
			s := serve(t, nil, func(_ int, w *scripted) {
				<-started
				pid := attacker.Process.Pid
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Error(err)
				}
				time.Sleep(20 * time.Millisecond) // until every thread stands
				w.answer(200, "fine")
				time.Sleep(still)
				if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
					t.Error(err)
				}
			})
			attacker.Env = append(os.Environ(), "GATEMARK_TEST_ATTACK="+s.url(), "GATEMARK_TEST_ENGINE="+string(engine), "GATEMARK_TEST_TIME="+string(of))
			out, err := os.CreateTemp(t.TempDir(), "result")
			if err != nil {
				t.Fatal(err)
			}
			attacker.ExtraFiles = []*os.File{out}
			var said bytes.Buffer
			attacker.Stdout, attacker.Stderr = &said, &said
			if err := attacker.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			if err := attacker.Wait(); err != nil {
				t.Fatalf("%v: %s", err, &said)
			}
			text, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			var r Result
			if err := json.Unmarshal(text, &r); err != nil || r.Requests != 1 || len(r.Errors) > 0 || r.ReceiveTime != of {
				t.Fatalf("%v; %d requests, errors %v, receive time %v", err, r.Requests, r.Errors, r.ReceiveTime)
			}
			if stood := r.Latency.Max >= still.Seconds(); stood != (of == LoopTime) {
				t.Errorf("by the %s's clock: latency %v, stood still for %v", of, r.Latency.Max, still)
			}
		}
	})
}

// standStill is the attacker: one request.
func standStill(t *testing.T, url string) {
	r := attackOn(t, Engine(os.Getenv("GATEMARK_TEST_ENGINE")), url, func(o *Options) {
		o.Connections, o.Threads, o.Requests, o.ReceiveTime = 1, 1, 1, ReceiveTime(os.Getenv("GATEMARK_TEST_TIME"))
	})
	if err := json.NewEncoder(os.NewFile(3, "result")).Encode(r); err != nil {
		t.Fatal(err)
	}
}

// TestAClockThatIsSet is told.
func TestAClockThatIsSet(t *testing.T) {
	epoch := time.Now()
	var w wall
	w.check(epoch, 1)
	w.check(epoch, 1+wallInterval)
	if w.steps != 0 {
		t.Fatalf("%d steps of a clock that was left alone", w.steps)
	}
	w.offset += 5 * stepLimit // as if it had been set meanwhile
	w.check(epoch, 1+2*wallInterval)
	if w.steps != 1 {
		t.Errorf("%d steps", w.steps)
	}
	l := &loop{wall: wall{offset: 1000}}
	if at := l.arrived(1500, 700); at != 500 {
		t.Errorf("arrived at %d", at)
	}
	if at := l.arrived(9999, 700); at != 700 {
		t.Errorf("a stamp from the future: arrived at %d", at)
	}
}
