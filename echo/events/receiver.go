package events

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds on memory: what strangers send must not fill it.
const (
	maxStreams = 1024
	maxTypes   = 1024
	maxPages   = 4096 // of 8 KiB
	maxGaps    = 100  // that are reported for each stream
	overflow   = "(others)"
)

// A Receiver counts events. It is safe for concurrent use.
type Receiver struct {
	binary, structured atomic.Int64
	malformed          atomic.Int64
	unnumbered, noRoom atomic.Int64
	budget             atomic.Int64
	mu                 sync.Mutex
	types              map[string]*typeCount
	streams            map[streamKey]*stream
}

// NewReceiver returns one that has received nothing.
func NewReceiver() *Receiver {
	r := &Receiver{types: map[string]*typeCount{}, streams: map[streamKey]*stream{}}
	r.budget.Store(maxPages)
	return r
}

type typeCount struct {
	name string
	n    atomic.Int64
}

// A stream is what one source numbers: events whose IDs differ only in the
// number at their end.
type streamKey struct{ source, prefix string }

type stream struct {
	streamKey
	mu         sync.Mutex
	numbers    Numbers
	received   int64
	duplicates int64
}

// A Recent is what a connection's last event belonged to: the next one is most
// often like it, and is then counted without a search.
type Recent struct {
	kind   *typeCount
	stream *stream
}

// Malformed counts an event that was none.
func (r *Receiver) Malformed() { r.malformed.Add(1) }

// Receive counts an event that Check accepts.
func (r *Receiver) Receive(e *Event, structured bool, recent *Recent) {
	if structured {
		r.structured.Add(1)
	} else {
		r.binary.Add(1)
	}
	if recent.kind == nil || recent.kind.name != string(e.Type) {
		recent.kind = r.typeOf(string(e.Type))
	}
	recent.kind.n.Add(1)
	prefix, number, ok := split(e.ID)
	if !ok {
		r.unnumbered.Add(1)
		return
	}
	if s := recent.stream; s == nil || s.source != string(e.Source) || s.prefix != string(prefix) {
		recent.stream = r.streamOf(string(e.Source), string(prefix))
	}
	if recent.stream == nil || !recent.stream.add(number) {
		r.noRoom.Add(1)
	}
}

func (s *stream) add(number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.numbers.Add(number) {
	case NoRoom:
		return false
	case Duplicate:
		s.duplicates++
	}
	s.received++
	return true
}

// split takes the number off the end of an ID.
func split(id []byte) (prefix []byte, number uint64, ok bool) {
	i := len(id)
	for scale := uint64(1); i > 0 && '0' <= id[i-1] && id[i-1] <= '9' && len(id)-i < 18; scale *= 10 {
		i--
		number += uint64(id[i]-'0') * scale
	}
	return id[:i], number, i < len(id)
}

func (r *Receiver) typeOf(name string) *typeCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.types[name]; t != nil {
		return t
	}
	if len(r.types) >= maxTypes {
		name = overflow
		if t := r.types[name]; t != nil {
			return t
		}
	}
	t := &typeCount{name: name}
	r.types[name] = t
	return t
}

// streamOf returns nil where there are too many.
func (r *Receiver) streamOf(source, prefix string) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := streamKey{source, prefix}
	s := r.streams[key]
	if s == nil && len(r.streams) < maxStreams {
		s = &stream{streamKey: key, numbers: Numbers{budget: &r.budget}}
		r.streams[key] = s
	}
	return s
}

// Counts is what was received.
type Counts struct {
	// Received is the sum of Binary and Structured.
	Received   int64 `json:"received"`
	Binary     int64 `json:"binary"`
	Structured int64 `json:"structured"`
	Malformed  int64 `json:"malformed"`
	// Unnumbered events have no number at the end of their ID, and NoRoom is
	// events of more streams than can be followed: the loss of either is not
	// seen.
	Unnumbered int64         `json:"unnumbered"`
	NoRoom     int64         `json:"noRoom"`
	Types      []TypeCount   `json:"types"`
	Streams    []StreamCount `json:"streams"`
}

// A TypeCount is the number of events of one type.
type TypeCount struct {
	Type   string `json:"type"`
	Events int64  `json:"events"`
}

// A StreamCount is what was received of one source, of IDs with one prefix.
type StreamCount struct {
	Source string `json:"source"`
	Prefix string `json:"prefix"`
	// Received counts duplicates too.
	Received   int64  `json:"received"`
	Duplicates int64  `json:"duplicates"`
	First      uint64 `json:"first"`
	Last       uint64 `json:"last"`
	// Missing counts numbers between First and Last that did not come, here.
	// Gaps are the first 100 ranges of them.
	Missing uint64  `json:"missing"`
	Gaps    []Range `json:"gaps,omitempty"`
}

// Counts returns what was received up to now, sorted.
func (r *Receiver) Counts() Counts {
	c := Counts{
		Binary: r.binary.Load(), Structured: r.structured.Load(), Malformed: r.malformed.Load(),
		Unnumbered: r.unnumbered.Load(), NoRoom: r.noRoom.Load(),
		Types: []TypeCount{}, Streams: []StreamCount{},
	}
	c.Received = c.Binary + c.Structured
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.types {
		c.Types = append(c.Types, TypeCount{t.name, t.n.Load()})
	}
	for _, s := range r.streams {
		c.Streams = append(c.Streams, s.count())
	}
	slices.SortFunc(c.Types, func(a, b TypeCount) int { return cmp.Compare(a.Type, b.Type) })
	slices.SortFunc(c.Streams, func(a, b StreamCount) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Prefix, b.Prefix))
	})
	return c
}

func (s *stream) count() StreamCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := StreamCount{
		Source: s.source, Prefix: s.prefix, Received: s.received, Duplicates: s.duplicates, Missing: s.numbers.Missing(),
	}
	c.First, c.Last = s.numbers.Bounds()
	for gap := range s.numbers.Gaps() {
		if len(c.Gaps) == maxGaps {
			break
		}
		c.Gaps = append(c.Gaps, gap)
	}
	return c
}

// A StreamNumbers is exactly which numbers of a stream were received. Those of
// several receivers can be united.
type StreamNumbers struct {
	Source  string   `json:"source"`
	Prefix  string   `json:"prefix"`
	Numbers *Numbers `json:"numbers"`
}

// Streams returns a copy of all numbers, sorted.
func (r *Receiver) Streams() []StreamNumbers {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []StreamNumbers{}
	for _, s := range r.streams {
		s.mu.Lock()
		numbers := new(Numbers)
		numbers.Union(&s.numbers)
		s.mu.Unlock()
		out = append(out, StreamNumbers{s.source, s.prefix, numbers})
	}
	slices.SortFunc(out, func(a, b StreamNumbers) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Prefix, b.Prefix))
	})
	return out
}
