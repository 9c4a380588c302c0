package sampler

import (
	"sync"

	"github.com/gatemark/gatemark/measure/usage/reading"
)

// readingsKept bounds what is kept for nobody: the runner asks every few
// seconds, and has it all then. 100,000 readings are 14 MB.
const readingsKept = 100_000

// A log is what was read and not yet fetched.
type log struct {
	mu       sync.Mutex
	groups   []reading.Group
	first    int // number of the first reading that is kept
	readings []reading.Reading
	problem  string
}

// add numbers a group.
func (l *log) add(g reading.Group) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.groups = append(l.groups, g)
	return len(l.groups) - 1
}

func (l *log) put(r reading.Reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.readings) >= readingsKept {
		// A tenth at once, so that it is not copied every time.
		l.drop(readingsKept / 10)
	}
	l.readings = append(l.readings, r)
}

func (l *log) drop(n int) {
	kept := copy(l.readings, l.readings[n:])
	l.readings = l.readings[:kept]
	l.first += n
}

// complain says why readings are missing.
func (l *log) complain(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problem = err.Error()
}

// since fills in an answer, and forgets what the asker has. Numbers beyond what
// there is are of another life.
func (l *log) since(a *reading.Answer, readings, groups int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if readings > l.first+len(l.readings) || groups > len(l.groups) {
		readings, groups = 0, 0
	}
	if readings > l.first {
		l.drop(readings - l.first)
	}
	a.First, a.FirstGroup = l.first, groups
	a.Readings = append([]reading.Reading(nil), l.readings...)
	a.Groups = append([]reading.Group(nil), l.groups[groups:]...)
	a.Problem = l.problem
}
