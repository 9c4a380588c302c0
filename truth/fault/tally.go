package fault

import (
	"maps"
	"sync"
)

// A Tally counts what faults did, by their names in JSON. The zero value is
// ready.
type Tally struct {
	mu sync.Mutex
	n  map[string]int64
}

// Add counts one.
func (t *Tally) Add(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[string]int64{}
	}
	t.n[name]++
}

// All are the counts so far.
func (t *Tally) All() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.n)
}
