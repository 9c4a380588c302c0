package fault

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestLeaksAreResident: what is leaked takes memory.
func TestLeaksAreResident(t *testing.T) {
	const pages = 16
	memory, err := leak(pages * syscall.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	var resident [pages]byte
	if _, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), uintptr(unsafe.Pointer(&resident[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for i, r := range resident {
		if r&1 == 0 {
			t.Errorf("page %d is not resident", i)
		}
	}
}

// carry lets a burden be carried until it is enough.
func carry(t *testing.T, b *Burden, f Faults, enough func() bool) {
	t.Helper()
	s := new(Switch)
	s.Set(f)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var carrying sync.WaitGroup
	carrying.Go(func() {
		if err := b.Carry(ctx, s); err != nil {
			t.Error(err)
		}
	})
	for !enough() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Errorf("%+v: %d bytes leaked, %s burnt, not enough", f, b.Leaked(), b.Burnt())
	}
	cancel()
	carrying.Wait()
}

func TestBurden(t *testing.T) {
	leaky, burning, idle := new(Burden), new(Burden), new(Burden)
	const perMinute = 60 << 20
	began := time.Now()
	carry(t, leaky, Faults{Leak: perMinute}, func() bool { return leaky.Leaked() >= 100<<10 })
	if most := float64(perMinute) * time.Since(began).Minutes(); float64(leaky.Leaked()) > most || leaky.Burnt() != 0 {
		t.Errorf("%d bytes leaked, more than %.0f; %s burnt", leaky.Leaked(), most, leaky.Burnt())
	}
	burning.Busy(time.Hour)
	carry(t, burning, Faults{Burn: 0.5}, func() bool { return burning.Burnt() >= 20*time.Millisecond })
	ticks := 0
	carry(t, idle, Faults{Burn: 0.5}, func() bool { ticks++; return ticks > 50 })
	if idle.Burnt() != 0 || idle.Leaked() != 0 {
		t.Errorf("with nothing to be busy with: %s burnt, %d bytes leaked", idle.Burnt(), idle.Leaked())
	}
}
