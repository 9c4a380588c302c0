package audit

import (
	"container/heap"
	"strconv"
	"time"
)

// A reader turns the lines of a log into a report.
type reader struct {
	options Options
	out     Report
	auditor *auditor
	count   *counter
	waiting waiting
	newest  time.Time
	// made holds the objects that were created and had no status written yet.
	made map[string]bool
}

func newReader(o Options) *reader {
	return &reader{options: o, auditor: newAuditor(o), count: newCounter(o), made: map[string]bool{}}
}

func (r *reader) line(line []byte) {
	r.out.Lines++
	e, err := decodeEvent(line)
	if err != nil {
		r.out.Malformed++
		return
	}
	if e.Stage != "ResponseComplete" || !e.isGatewayAPI() {
		return
	}
	judged := r.inWindow(e.RequestReceivedTimestamp) &&
		(r.options.Namespace == "" || r.options.Namespace == e.ObjectRef.Namespace)
	if e.ObjectRef.Subresource != "status" {
		r.other(e, judged)
		return
	}
	if e.Verb != "update" && e.Verb != "patch" {
		return
	}
	switch code := e.ResponseStatus.Code; {
	case code == 409:
		r.tally(e, judged, Counts{Conflicts: 1})
	case code >= 300:
		r.tally(e, judged, Counts{Errors: 1})
	default:
		w, err := e.write()
		if err != nil { // a status that was logged without its response
			r.out.Malformed++
			return
		}
		r.accepted(e, w, judged)
	}
}

// other takes what is no status write.
func (r *reader) other(e event, judged bool) {
	switch e.Verb {
	case "create":
		if e.ResponseStatus.Code < 300 {
			r.made[e.object()] = true
		}
	case "update", "patch", "delete", "deletecollection":
	default:
		return
	}
	if judged {
		r.out.OtherWrites++
	}
}

func (r *reader) inWindow(at time.Time) bool {
	return !at.Before(r.options.Since) && (r.options.Until.IsZero() || !at.After(r.options.Until))
}

// tally counts what needs no order.
func (r *reader) tally(e event, judged bool, c Counts) {
	if judged {
		r.count.add(e.writer(), agent(e.UserAgent), e.ObjectRef.Resource, c)
	}
}

// accepted holds a write back until those with lower versions must have come:
// the log has responses in the order in which they ended, which for requests
// in parallel is not that of their versions.
func (r *reader) accepted(e event, w write, judged bool) {
	if object := e.object(); r.made[object] {
		w.fresh = true
		delete(r.made, object)
	}
	base, err := strconv.ParseUint(e.ObjectRef.ResourceVersion, 10, 64)
	heap.Push(&r.waiting, pending{
		write: w, agent: agent(e.UserAgent), judged: judged, ended: e.StageTimestamp,
		noop: err == nil && base == w.version,
	})
	if e.StageTimestamp.After(r.newest) {
		r.newest = e.StageTimestamp
	}
	for len(r.waiting) > 0 && (r.newest.Sub(r.waiting[0].ended) > reorderTime || len(r.waiting) > reorderMost) {
		r.release()
	}
}

// The slack that reordering gets.
const (
	reorderTime = time.Second
	reorderMost = 20_000
)

func (r *reader) release() {
	p := heap.Pop(&r.waiting).(pending)
	counts := Counts{NoOps: 1}
	if !p.noop && r.auditor.changes(p.uid, p.version) {
		counts = Counts{Writes: 1}
	}
	if p.judged {
		r.count.add(p.writer, p.agent, p.kind, counts)
		r.count.object(p.uid)
		if counts.Writes > 0 {
			r.count.time(p.write)
		}
	}
	r.auditor.take(p.write, p.judged)
}

func (r *reader) report() Report {
	for len(r.waiting) > 0 {
		r.release()
	}
	return finish(r.out, r.options, r.auditor, r.count)
}

// finish puts a report together.
func finish(out Report, o Options, a *auditor, c *counter) Report {
	out.From, out.To = o.Since, o.Until
	out.Objects = len(c.objects)
	out.Writers = c.writers(a)
	out.Owners = a.owners()
	out.Timeline = c.timeline()
	out.Problems = a.verdict()
	return out
}

type pending struct {
	write
	agent        string
	ended        time.Time
	noop, judged bool
}

// waiting is a heap of writes by version.
type waiting []pending

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].version < w[j].version }
func (w waiting) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)        { *w = append(*w, x.(pending)) }
func (w *waiting) Pop() any {
	old := *w
	last := old[len(old)-1]
	old[len(old)-1] = pending{}
	*w = old[:len(old)-1]
	return last
}
