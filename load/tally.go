package load

import "time"

// A tally counts one loop's requests that were due in one slice of time.
type tally struct {
	start, end int64 // since the epoch; end is moved when a mark cuts the slice
	window     int
	open       int // requests that have not ended
	counts     [Classes]int64
	statuses   [1000]int32
	latency    [Classes]*Histogram
	// service is used from the first request on whose service time is not its
	// latency. In a closed loop there is none, and one histogram stands for both.
	service [Classes]*Histogram
	apart   [Classes]bool
	late    int64
	queued  int64
	inTime  int64
}

func (t *tally) reset(start, end int64, window int) {
	t.start, t.end, t.window, t.open = start, end, window, 0
	t.counts, t.statuses, t.apart = [Classes]int64{}, [1000]int32{}, [Classes]bool{}
	t.late, t.queued, t.inTime = 0, 0, 0
	for c := range t.latency {
		if t.latency[c] != nil {
			t.latency[c].reset()
			t.service[c].reset()
		}
	}
}

// record counts one request that was sent.
func (t *tally) record(class Class, latency, service int64) {
	t.counts[class]++
	if t.latency[class] == nil {
		t.latency[class], t.service[class] = NewHistogram(), NewHistogram()
	}
	if service != latency && !t.apart[class] {
		t.apart[class] = true
		t.service[class].Merge(t.latency[class])
	}
	t.latency[class].Record(latency)
	if t.apart[class] {
		t.service[class].Record(service)
	}
}

// services are the service times of a class.
func (t *tally) services(class Class) *Histogram {
	if t.apart[class] {
		return t.service[class]
	}
	return t.latency[class]
}

// tallyOf returns the tally of the slice that an instant lies in. Instants come
// in order, but for a thread's being late to learn of a mark.
func (l *loop) tallyOf(due int64) *tally {
	for i := len(l.tallies) - 1; i >= 0; i-- {
		if t := l.tallies[i]; due >= t.start && due < t.end {
			return t
		}
	}
	return l.newTally(due)
}

// sliceLength is the longest slice: results are kept by the second.
const sliceLength = int64(time.Second)

func (l *loop) newTally(due int64) *tally {
	since := max(due-l.begin, 0)
	start := l.begin + since/sliceLength*sliceLength
	end := start + sliceLength
	window := 0
	for i, m := range *l.marks {
		at := l.begin + int64(m.At)
		if at <= due {
			window, start = i+1, max(start, at)
		} else {
			end = min(end, at)
		}
	}
	t := l.attack.collector.blank()
	t.reset(start, end, window)
	l.tallies = append(l.tallies, t)
	return t
}

// cut ends the newest slices where new marks lie.
func (l *loop) learnMarks() {
	marks := l.attack.marks.Load()
	if marks == l.marks {
		return
	}
	for _, m := range (*marks)[len(*l.marks):] {
		at := l.begin + int64(m.At)
		for _, t := range l.tallies {
			if t.start < at && at < t.end {
				t.end = at
			}
		}
	}
	l.marks = marks
}

// handIn gives complete tallies to the collector: no request that is due in
// them can come any more, and none is under way.
func (l *loop) handIn(before int64) {
	kept, settled := l.tallies[:0], before
	for _, t := range l.tallies {
		if t.end <= before && t.open == 0 {
			l.attack.collector.take(t)
			continue
		}
		kept, settled = append(kept, t), min(settled, t.start)
	}
	clear(l.tallies[len(kept):])
	l.tallies = kept
	l.settled.Store(settled)
}
