package load

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Merged result is that of several attackers that shared one schedule, as if
// they had been one. What each of them found is kept beside it: one that is
// slow is a finding, and drowns in the sum.
type Merged struct {
	Result    *Result    `json:"result"`
	Attackers []Attacker `json:"attackers"`
}

// An Attacker is what one of several attackers has found.
type Attacker struct {
	Name string `json:"name"`
	// Node is the machine that it ran on, where that is known.
	Node   string  `json:"node,omitempty"`
	Result *Result `json:"result"`
}

// Mixed is the engine of a merged result whose attackers had different ones.
const Mixed Engine = "mixed"

// Merge makes one result of those of all attackers that shared a schedule.
// Counts and histograms add up, and everything else follows from them; nothing
// is averaged. Slices are aligned by their time since the schedule's start, so
// that what the attackers' clocks show does not matter here.
//
// It fails where the sum would not be the whole: a part is missing or there
// twice, or the attackers did not do the same thing. Times of connecting add up
// only where results carry ConnectTimes, which those from this version do.
func Merge(all []Attacker) (*Merged, error) {
	if err := mergeable(all); err != nil {
		return nil, fmt.Errorf("merge results: %w", err)
	}
	first := all[0].Result
	r := &Result{
		URL: first.URL, Protocol: first.Protocol, Engine: first.Engine, Streams: first.Streams, OpenLoop: first.OpenLoop,
		ReceiveTime: first.ReceiveTime,
		Parts:       1, Started: first.Started,
	}
	connect, handshake := NewHistogram(), NewHistogram()
	for _, a := range all {
		r.add(a.Result)
		connect, handshake = merged(connect, a.Result.ConnectTimes), merged(handshake, a.Result.HandshakeTimes)
	}
	r.setSetup(connect, handshake)
	var err error
	if r.Slices, err = mergeSlices(all); err != nil {
		return nil, fmt.Errorf("merge results: %w", err)
	}
	if r.Windows, err = mergeWindows(all, r.Slices); err != nil {
		return nil, fmt.Errorf("merge results: %w", err)
	}
	total := r.count()
	if r.Seconds > 0 {
		r.AchievedRate = float64(total.InTime) / r.Seconds
		if r.OpenLoop {
			r.RequestedRate = float64(r.Requests) / r.Seconds
		}
	}
	r.worst(all)
	return &Merged{Result: r, Attackers: slices.Clone(all)}, nil
}

// add takes over what adds up, or counts by its highest.
func (r *Result) add(from *Result) {
	if from.Engine != r.Engine {
		r.Engine = Mixed
	}
	if from.Started.Before(r.Started) {
		r.Started = from.Started
	}
	r.Seconds = max(r.Seconds, from.Seconds)
	r.Connections += from.Connections
	r.Threads += from.Threads
	r.BytesIn += from.BytesIn
	r.BytesOut += from.BytesOut
	r.Opened += from.Opened
	r.Resumed += from.Resumed
	r.IdleCloses += from.IdleCloses
	r.Unasked += from.Unasked
	r.CPUSeconds += from.CPUSeconds
	r.Self.add(&from.Self)
}

// add sums what the attackers used. The busiest loop and the largest memory
// are those of one process.
func (s *Self) add(from *Self) {
	s.BusiestLoop = max(s.BusiestLoop, from.BusiestLoop)
	s.PeakRSS = max(s.PeakRSS, from.PeakRSS)
	s.Steal = max(s.Steal, from.Steal)
	s.LoopCPU += from.LoopCPU
	s.GCPauses += from.GCPauses
	s.GCPauseSeconds += from.GCPauseSeconds
	s.Exhausted += from.Exhausted
	s.ClockSteps += from.ClockSteps
	s.RecordsLost += from.RecordsLost
}

// worst takes the worst verdict: an attacker that was the limit of its own
// part spoils the whole, however little it weighs.
func (r *Result) worst(all []Attacker) {
	r.Verdict = Valid
	for _, a := range all {
		if badness(a.Result.Verdict) > badness(r.Verdict) {
			r.Verdict = a.Result.Verdict
		}
		for _, reason := range a.Result.Reasons {
			r.Reasons = append(r.Reasons, a.Name+": "+reason)
		}
	}
}

// badness orders verdicts. One that this version does not know is the worst.
func badness(v Verdict) int {
	if i := slices.Index([]Verdict{Valid, BackendLimited, AttackerLimited}, v); i >= 0 {
		return i
	}
	return 3
}

// mergeable returns all that keeps results from being one.
func mergeable(all []Attacker) error {
	if len(all) == 0 {
		return errors.New("there are none")
	}
	var problems []error
	wrong := func(format string, arguments ...any) { problems = append(problems, fmt.Errorf(format, arguments...)) }
	parts := map[int]string{}
	names := map[string]bool{}
	for i, a := range all {
		if a.Name == "" || names[a.Name] {
			wrong("attacker %d has the name %q, which is empty or another's", i+1, a.Name)
		}
		names[a.Name] = true
		if a.Result == nil {
			wrong("%s has none", a.Name)
			continue
		}
		r := a.Result
		if r.Parts != len(all) || r.Part < 0 || r.Part >= r.Parts {
			wrong("%s has part %d of %d, among %d results", a.Name, r.Part+1, r.Parts, len(all))
		}
		if other, taken := parts[r.Part]; taken {
			wrong("%s and %s both have part %d", other, a.Name, r.Part+1)
		}
		parts[r.Part] = a.Name
		if first := all[0].Result; first != nil {
			problems = append(problems, alike(all[0].Name, first, a.Name, r)...)
		}
	}
	return errors.Join(problems...)
}

// alike returns how two attackers differ that should have done the same.
func alike(name string, r *Result, otherName string, other *Result) (problems []error) {
	for _, f := range []struct {
		what string
		a, b any
	}{
		{"URL", r.URL, other.URL}, {"protocol", r.Protocol, other.Protocol}, {"streams", r.Streams, other.Streams},
		// Parts are dealt out by threads.
		{"threads", r.Threads, other.Threads}, {"open loop", r.OpenLoop, other.OpenLoop},
		{"receive time", r.ReceiveTime, other.ReceiveTime},
	} {
		if f.a != f.b {
			problems = append(problems, fmt.Errorf("%s has %s %v, %s %v", name, f.what, f.a, otherName, f.b))
		}
	}
	return problems
}

// mergeSlices adds up slices of the same time, in the order of their starts.
func mergeSlices(all []Attacker) ([]*Slice, error) {
	type span struct {
		start, end time.Duration
		window     string
	}
	byTime := map[span][]*Slice{}
	var order []span
	for _, a := range all {
		for _, s := range a.Result.Slices {
			at := span{s.Start, s.End, s.Window}
			if byTime[at] == nil {
				order = append(order, at)
			}
			byTime[at] = append(byTime[at], s)
		}
	}
	slices.SortFunc(order, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	out := make([]*Slice, 0, len(order))
	for i, at := range order {
		if i > 0 && order[i-1].end > at.start {
			return nil, fmt.Errorf("slices overlap, from %v to %v and from %v to %v: the attackers' windows differ",
				order[i-1].start, order[i-1].end, at.start, at.end)
		}
		s := &Slice{Start: at.start, End: at.end, Window: at.window}
		s.Merge(&Counts{})
		for _, from := range byTime[at] {
			s.Merge(&from.Counts)
		}
		for _, count := range s.Classes {
			count.Latency.pack()
			count.Service.pack()
		}
		out = append(out, s)
	}
	return out, nil
}

// mergeWindows counts the windows anew. Only the last one's end may differ: an
// attacker's ends with its last answer.
func mergeWindows(all []Attacker, merged []*Slice) ([]Window, error) {
	var out []Window
	for i, a := range all {
		if i > 0 && len(a.Result.Windows) != len(out) {
			return nil, fmt.Errorf("%s has %d windows, %s %d", all[0].Name, len(out), a.Name, len(a.Result.Windows))
		}
		for j, w := range a.Result.Windows {
			if i == 0 {
				out = append(out, Window{Name: w.Name, Start: w.Start, End: w.End})
				continue
			}
			if w.Name != out[j].Name || w.Start != out[j].Start {
				return nil, fmt.Errorf("window %d is %q from %v s for %s, and %q from %v s for %s",
					j+1, out[j].Name, out[j].Start, all[0].Name, w.Name, w.Start, a.Name)
			}
			out[j].End = max(out[j].End, w.End)
		}
	}
	for i := range out {
		out[i].count(merged)
	}
	return out, nil
}
