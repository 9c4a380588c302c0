package events

import (
	"encoding/json"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"sync/atomic"
)

// pageSize is how many numbers share a page. A page that is complete takes no
// memory but its place in the map.
const (
	pageSize  = 1 << pageShift
	pageShift = 16
)

// Numbers is a set of numbers, small where they are dense: a bit each, and
// nothing for long runs without a hole.
type Numbers struct {
	pages  map[uint64]*page
	n      uint64
	first  uint64
	last   uint64
	budget *atomic.Int64 // pages that may still be made, nil for any number
}

type page struct {
	bits *[pageSize / 64]uint64 // nil for a complete page
	n    int
}

// An Outcome is what became of a number.
type Outcome int

// The outcomes of Add.
const (
	Added Outcome = iota
	Duplicate
	// NoRoom says that the number would need memory that there is not.
	NoRoom
)

// Add adds a number.
func (s *Numbers) Add(number uint64) Outcome {
	p := s.pages[number>>pageShift]
	if p == nil {
		if s.budget != nil && s.budget.Add(-1) < 0 {
			s.budget.Add(1)
			return NoRoom
		}
		if s.pages == nil {
			s.pages = map[uint64]*page{}
		}
		p = &page{bits: new([pageSize / 64]uint64)}
		s.pages[number>>pageShift] = p
	}
	i := number % pageSize
	if p.bits == nil || p.bits[i/64]&(1<<(i%64)) != 0 {
		return Duplicate
	}
	p.bits[i/64] |= 1 << (i % 64)
	p.n++
	s.complete(p)
	if s.n == 0 || number < s.first {
		s.first = number
	}
	s.last = max(s.last, number)
	s.n++
	return Added
}

func (s *Numbers) complete(p *page) {
	if p.n == pageSize {
		p.bits = nil
		if s.budget != nil {
			s.budget.Add(1)
		}
	}
}

// Len is how many numbers there are.
func (s *Numbers) Len() uint64 { return s.n }

// Bounds are the least and the greatest number.
func (s *Numbers) Bounds() (first, last uint64) { return s.first, s.last }

// Missing is how many numbers between the bounds are not in the set.
func (s *Numbers) Missing() uint64 {
	if s.n == 0 {
		return 0
	}
	return s.last - s.first + 1 - s.n
}

// A Range is all numbers from First to Last.
type Range struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// Gaps are the ranges between the bounds that are not in the set, in order.
func (s *Numbers) Gaps() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		next := s.first
		for r := range s.runs() {
			if r.First > next && !yield(Range{next, r.First - 1}) {
				return
			}
			next = r.Last + 1
		}
	}
}

// runs are the ranges of the set, in order. Two may touch.
func (s *Numbers) runs() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for _, index := range slices.Sorted(maps.Keys(s.pages)) {
			base := index << pageShift
			p := s.pages[index]
			if p.bits == nil {
				if !yield(Range{base, base + pageSize - 1}) {
					return
				}
				continue
			}
			for i, word := range p.bits {
				if !wordRuns(base+uint64(i)*64, word, yield) {
					return
				}
			}
		}
	}
}

func wordRuns(base, word uint64, yield func(Range) bool) bool {
	for offset := 0; word != 0; {
		zeros := bits.TrailingZeros64(word)
		word >>= zeros
		ones := bits.TrailingZeros64(^word)
		first := base + uint64(offset+zeros)
		if !yield(Range{first, first + uint64(ones) - 1}) {
			return false
		}
		offset += zeros + ones
		word >>= ones // 64 leaves 0
	}
	return true
}

// Union adds all numbers of another set, and returns how many were in both:
// what several receivers got, and what more than one of them did.
func (s *Numbers) Union(other *Numbers) (common uint64) {
	for r := range other.runs() {
		for number := r.First; ; number++ {
			if s.Add(number) == Duplicate {
				common++
			}
			if number == r.Last {
				break
			}
		}
	}
	return common
}

// pageText is a page in JSON: its bits, or none where it is complete.
type pageText struct {
	Page uint64 `json:"page"`
	Bits []byte `json:"bits,omitempty"`
}

// MarshalJSON writes pages of 65536 numbers, as bits in base64, the lowest
// number in the lowest bit of the first byte.
func (s *Numbers) MarshalJSON() ([]byte, error) {
	out := []pageText{}
	for _, index := range slices.Sorted(maps.Keys(s.pages)) {
		text := pageText{Page: index}
		if p := s.pages[index]; p.bits != nil {
			for _, word := range p.bits {
				for shift := 0; shift < 64; shift += 8 {
					text.Bits = append(text.Bits, byte(word>>shift))
				}
			}
		}
		out = append(out, text)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Numbers) UnmarshalJSON(data []byte) error {
	var pages []pageText
	if err := json.Unmarshal(data, &pages); err != nil {
		return err
	}
	*s = Numbers{}
	for _, text := range pages {
		base := text.Page << pageShift
		for i := range uint64(pageSize) {
			if text.Bits == nil || i/8 < uint64(len(text.Bits)) && text.Bits[i/8]&(1<<(i%8)) != 0 {
				s.Add(base + i)
			}
		}
	}
	return nil
}
