package floor

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/gatemark/gatemark/load/ring"
	"golang.org/x/sys/unix"
)

// uring has a receive armed on each connection, and hands sends over in small
// batches, so that the server gets to work early.
type uring struct {
	ring *ring.Ring
}

// batch is how many sends are handed over at a time.
const batch = 8

func newURing(connections int) (*uring, error) {
	r, err := ring.New(ring.Options{
		Entries: 256, Completions: max(4096, 1<<bits.Len(uint(2*connections))), Buffers: 128, BufferSize: 8 << 10, Files: connections,
	})
	if err != nil {
		return nil, fmt.Errorf("make a ring: %w", err)
	}
	return &uring{r}, nil
}

func (u *uring) begin(number, fd int) error {
	if err := u.ring.SetFile(number, int32(fd)); err != nil {
		return fmt.Errorf("register a descriptor: %w", err)
	}
	u.arm(number)
	u.send(number)
	return u.ring.Submit()
}

// What completes is either a receive, or a send that failed.
const failedSend = 1 << 32

func (u *uring) arm(number int) {
	u.ring.Receive(ring.File{FD: int32(number), Registered: true}, uint64(number))
}

func (u *uring) send(number int) {
	u.ring.Send(ring.File{FD: int32(number), Registered: true}, request, true, failedSend|uint64(number))
}

func (u *uring) turn(l *loop) error {
	wait := 100 * time.Millisecond
	if u.ring.Ready() > 0 {
		wait = 0
	}
	if err := u.ring.Wait(wait); err != nil {
		return err
	}
	var k ring.Completion
	for n := u.ring.Ready(); n > 0; n-- {
		u.ring.Take(&k)
		number, size, more := int(k.Data), int(k.Result), k.More
		u.ring.Release(&k)
		switch {
		case k.Data >= failedSend:
			return fmt.Errorf("send: %w", unix.Errno(-size))
		case size == -int(unix.ENOBUFS):
			u.arm(number)
			continue
		case size < 0:
			return fmt.Errorf("receive: %w", unix.Errno(-size))
		case size == 0:
			return errClosed
		}
		l.took(size)
		if !more {
			u.arm(number)
		}
		u.send(number)
		if u.ring.Prepared() >= batch {
			if err := u.ring.Submit(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *uring) close() error { return u.ring.Close() }
