package load

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A Slice is what was due in one stretch of time, at most a second, by all
// threads. Slices of one attack do not overlap, and their sum is the whole.
type Slice struct {
	// Start and End are times since the schedule's start.
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"`
	Window string        `json:"window,omitempty"`
	Counts
}

// Counts are requests and their times, by how they ended. Counts merge without
// loss.
type Counts struct {
	Classes  map[Class]*ClassCount `json:"classes"`
	Statuses map[int]int64         `json:"statuses,omitempty"`
	// Late counts requests that the attacker sent more than 1 ms later than it
	// could have, Queued those that found all connections busy when due.
	Late   int64 `json:"late,omitempty"`
	Queued int64 `json:"queued,omitempty"`
	// InTime counts answers that came before the schedule's end.
	InTime int64 `json:"inTime"`
}

// A ClassCount is the requests of one class.
type ClassCount struct {
	Count int64 `json:"count"`
	// Latency counts from when a request was due, Service from when it was
	// sent. They are nil for requests that were never sent.
	Latency *Histogram `json:"latency,omitempty"`
	Service *Histogram `json:"service,omitempty"`
}

// Merge adds other's counts.
func (c *Counts) Merge(other *Counts) {
	if c.Classes == nil {
		c.Classes, c.Statuses = map[Class]*ClassCount{}, map[int]int64{}
	}
	for class, from := range other.Classes {
		to := c.Classes[class]
		if to == nil {
			to = &ClassCount{}
			c.Classes[class] = to
		}
		to.Count += from.Count
		to.Latency, to.Service = merged(to.Latency, from.Latency), merged(to.Service, from.Service)
	}
	for status, n := range other.Statuses {
		c.Statuses[status] += n
	}
	c.Late += other.Late
	c.Queued += other.Queued
	c.InTime += other.InTime
}

// Requests is how many there were.
func (c *Counts) Requests() (n int64) {
	for _, count := range c.Classes {
		n += count.Count
	}
	return n
}

// Errors counts those that did not end well.
func (c *Counts) Errors() map[Class]int64 {
	out := map[Class]int64{}
	for class, count := range c.Classes {
		if class != OK {
			out[class] = count.Count
		}
	}
	return out
}

func merged(to, from *Histogram) *Histogram {
	if from == nil {
		return to
	}
	if to == nil {
		to = NewHistogram()
	}
	to.Merge(from)
	return to
}

// A collector merges the threads' tallies into slices, off the threads.
type collector struct {
	attack  *attack
	mu      sync.Mutex
	wake    *sync.Cond
	spare   []*tally
	in      []*tally
	closing bool
	done    chan struct{}

	open   map[[2]int64]*Slice // by start and end
	slices []*Slice
}

func newCollector(a *attack) *collector {
	c := &collector{attack: a, open: map[[2]int64]*Slice{}, done: make(chan struct{})}
	c.wake = sync.NewCond(&c.mu)
	return c
}

// blank returns a tally to be filled.
func (c *collector) blank() *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.spare); n > 0 {
		t := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return t
	}
	return &tally{}
}

// take takes a complete tally.
func (c *collector) take(t *tally) {
	c.mu.Lock()
	c.in = append(c.in, t)
	c.mu.Unlock()
	c.wake.Signal()
}

// close returns when everything that was taken is merged.
func (c *collector) close() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.wake.Signal()
	<-c.done
}

func (c *collector) run() {
	defer close(c.done)
	for {
		c.mu.Lock()
		for len(c.in) == 0 && !c.closing {
			c.wake.Wait()
		}
		// What is settled is asked before the tallies are taken: a thread hands
		// in a tally first, and says then that it is settled.
		settled := c.attack.settled()
		in, closing := c.in, c.closing
		c.in = nil
		c.mu.Unlock()
		for _, t := range in {
			c.merge(t)
		}
		c.mu.Lock()
		c.spare = append(c.spare, in...)
		c.mu.Unlock()
		if closing && len(in) == 0 {
			c.complete(never)
			return
		}
		c.complete(settled)
	}
}

func (c *collector) merge(t *tally) {
	begin := c.attack.begin.Load()
	key := [2]int64{t.start, t.end}
	s := c.open[key]
	if s == nil {
		s = &Slice{Start: time.Duration(t.start - begin), End: time.Duration(t.end - begin)}
		if t.window > 0 {
			s.Window = (*c.attack.marks.Load())[t.window-1].Window
		}
		c.open[key] = s
	}
	counts := Counts{Classes: map[Class]*ClassCount{}, Statuses: map[int]int64{}, Late: t.late, Queued: t.queued, InTime: t.inTime}
	for class, n := range t.counts {
		if n > 0 {
			counts.Classes[Class(class)] = &ClassCount{n, nonEmpty(t.latency[class]), nonEmpty(t.services(Class(class)))}
		}
	}
	for status, n := range t.statuses {
		if n > 0 {
			counts.Statuses[status] = int64(n)
		}
	}
	s.Merge(&counts)
}

func nonEmpty(h *Histogram) *Histogram {
	if h == nil || h.Count() == 0 {
		return nil
	}
	return h
}

// complete lays aside slices that end before an instant.
func (c *collector) complete(before int64) {
	for _, key := range slices.SortedFunc(maps.Keys(c.open), func(a, b [2]int64) int { return int(min(max(a[0]-b[0], -1), 1)) }) {
		if key[1] > before {
			return
		}
		s := c.open[key]
		delete(c.open, key)
		if take := c.attack.options.Slice; take != nil {
			take(s)
		}
		c.keep(s)
	}
}

// keep adds a complete slice to the result's.
func (c *collector) keep(s *Slice) {
	n := len(c.slices)
	if c.attack.options.Whole && n > 0 && c.slices[n-1].Window == s.Window && !c.attack.marked(s.Start) {
		last := c.slices[n-1]
		last.Merge(&s.Counts)
		last.End = max(last.End, s.End)
		return
	}
	c.slices = append(c.slices, s)
	if old := n - unpacked; old >= 0 {
		c.slices[old].pack()
	}
}

// marked reports whether there is a mark at an instant: two windows in a row may
// have one name.
func (a *attack) marked(at time.Duration) bool {
	return slices.ContainsFunc(*a.marks.Load(), func(m Mark) bool { return m.At == at })
}

// unpacked is how many slices keep their histograms as they are. Only long
// attacks need to be small.
const unpacked = 4

func (s *Slice) pack() {
	for _, count := range s.Classes {
		count.Latency.pack()
		count.Service.pack()
	}
}
