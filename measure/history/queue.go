package history

import (
	"errors"
	"sync"
)

var errTooFarBehind = errors.New("more events waited for decoding than memory allows")

// queueLimit bounds the bytes that wait for decoding.
const queueLimit = 512 << 20

// A queue lets the reader never wait for the decoder.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	frames  []frame
	size    int
	// working is set while the decoder holds frames that it took.
	working, closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.changed.L = &q.mu
	return q
}

// put fails where there is no room.
func (q *queue) put(f frame) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size+len(f.line) > queueLimit {
		return errTooFarBehind
	}
	q.size += len(f.line)
	q.frames = append(q.frames, f)
	q.changed.Broadcast()
	return nil
}

// take returns everything that waits, and nothing once the queue was closed
// and emptied. spare is a slice to reuse.
func (q *queue) take(spare []frame) []frame {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.working = false
	q.changed.Broadcast()
	for len(q.frames) == 0 && !q.closed {
		q.changed.Wait()
	}
	taken := q.frames
	clear(spare)
	q.frames, q.size = spare[:0], 0
	q.working = len(taken) > 0
	return taken
}

// drain waits until everything that was put has been decoded.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.frames) > 0 || q.working {
		q.changed.Wait()
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
