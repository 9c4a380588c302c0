package fault

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// A Burden is what a process costs that need not be: memory that is leaked, and
// CPU time that is burnt.
type Burden struct {
	leaked, burnt atomic.Int64
	busy          atomic.Int64 // until when CPU is burnt, in ns since 1970
}

// Leaked is how many bytes were leaked so far: all of them are resident.
func (b *Burden) Leaked() int64 { return b.leaked.Load() }

// Burnt is how long a CPU was kept busy so far.
func (b *Burden) Burnt() time.Duration { return time.Duration(b.burnt.Load()) }

// Busy lets CPU be burnt for a while, where faults want it.
func (b *Burden) Busy(d time.Duration) { b.busy.Store(time.Now().Add(d).UnixNano()) }

// tick is how finely a burden is spread over time.
const tick = 20 * time.Millisecond

// Carry leaks and burns until the context ends; then leaked memory is given
// back. The error is of memory that could not be had.
func (b *Burden) Carry(ctx context.Context, s *Switch) error {
	var leaks [][]byte
	defer func() {
		for _, leak := range leaks {
			_ = syscall.Munmap(leak) // it was mapped here
		}
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	page := int64(os.Getpagesize())
	owed := 0.0 // bytes
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		f, now := s.Now(), time.Now()
		owed += float64(f.Leak) * now.Sub(last).Minutes()
		last = now
		if n := int64(owed) / page * page; n > 0 {
			leak, err := leak(int(n))
			if err != nil {
				return err
			}
			leaks = append(leaks, leak)
			b.leaked.Add(n)
			owed -= float64(n)
		}
		if f.Burn > 0 && now.UnixNano() < b.busy.Load() {
			b.Burn(time.Duration(f.Burn * float64(tick)))
		}
	}
}

// leak takes memory from the system and touches all of it.
func leak(n int) ([]byte, error) {
	memory, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("leak %d bytes: %w", n, err)
	}
	for i := 0; i < n; i += os.Getpagesize() {
		memory[i] = 1
	}
	return memory, nil
}

// Burn keeps a CPU busy.
func (b *Burden) Burn(d time.Duration) {
	if d <= 0 {
		return
	}
	began := time.Now()
	for time.Since(began) < d {
	}
	b.burnt.Add(int64(time.Since(began)))
}
