package detection

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/scenario"
)

// A meter reads what this process uses, all of which counts as the control
// plane's: the scenario and the backends are in it, too, and are at rest but for
// what they are told to do.
type meter struct {
	mu      sync.Mutex
	samples []sample
	cancel  context.CancelFunc
	ended   chan struct{}
}

type sample struct {
	at          time.Time
	cpu, memory float64 // seconds, bytes
}

// meterStep is how often it reads.
const meterStep = 500 * time.Millisecond

func startMeter(ctx context.Context) *meter {
	ctx, cancel := context.WithCancel(ctx)
	m := &meter{cancel: cancel, ended: make(chan struct{})}
	m.Edge(ctx)
	go func() {
		defer close(m.ended)
		ticker := time.NewTicker(meterStep)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				m.Edge(ctx)
			}
		}
	}()
	return m
}

func (m *meter) stop() {
	m.cancel()
	<-m.ended
}

// Edge implements scenario.Meter. A reading that fails is missing.
func (m *meter) Edge(context.Context) {
	var used unix.Rusage
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil || unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return
	}
	pages, err := strconv.ParseFloat(string(bytes.Fields(text)[1]), 64)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.samples = append(m.samples, sample{time.Now(), float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9, pages * float64(os.Getpagesize())})
}

// Window implements scenario.Meter.
func (m *meter) Window(from, to time.Time) *usage.Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &usage.Window{From: from, To: to, Uses: map[string]usage.Use{}, CPU: map[string][]float64{}, Memory: map[string][]float64{}, Interval: meterStep}
	var cpu, memory []float64
	for _, s := range m.samples {
		if !s.at.Before(from) && !s.at.After(to) {
			w.At, cpu, memory = append(w.At, s.at.Sub(from).Seconds()), append(cpu, s.cpu), append(memory, s.memory)
		}
	}
	if len(cpu) > 0 {
		w.Uses[scenario.ControlPlaneRole] = usage.Use{CPU: cpu[len(cpu)-1] - cpu[0], Begin: memory[0], End: memory[len(memory)-1], Members: 1}
	}
	w.CPU[scenario.ControlPlaneRole], w.Memory[scenario.ControlPlaneRole] = cpu, memory
	return w
}
