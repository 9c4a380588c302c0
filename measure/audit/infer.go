package audit

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/gatemark/gatemark/measure/history"
)

// An Object is what inference needs of an object, whatever its kind: start a
// history of it for each kind.
type Object struct {
	history.Partial
	Spec   spec           `json:"spec"`
	Status jsontext.Value `json:"status"`
}

// An Inference audits without an audit log, from histories: every version of a
// status that differs from the one before it was written by somebody. Who, is
// taken to be the controller whose entries changed, or whose Gateway it is.
type Inference struct {
	mu      sync.Mutex
	options Options
	auditor *auditor
	count   *counter
	unclear int
}

// NewInference returns an Inference to which histories report through Record.
// Options.Until and Settle do not matter to it.
func NewInference(o Options) *Inference {
	o.defaults()
	i := &Inference{options: o, auditor: newAuditor(o), count: newCounter(o)}
	i.auditor.inferred = true
	return i
}

// Record returns a callback for history.Start on one kind. kind is the plural
// name, as the audit log would have it.
func (i *Inference) Record(kind string) func(history.Event[Object]) {
	return func(e history.Event[Object]) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.record(kind, e)
	}
}

func (i *Inference) record(kind string, e history.Event[Object]) {
	m := e.Object.Metadata
	if e.Type == watch.Deleted {
		delete(i.auditor.objects, types.UID(m.UID))
		return
	}
	version, err := strconv.ParseUint(m.ResourceVersion, 10, 64)
	s, err2 := decodeStatus(e.Object.Status)
	if err != nil || err2 != nil {
		i.unclear++
		return
	}
	w := write{
		at: e.At, verb: "inferred", kind: kind, namespace: m.Namespace, name: m.Name, uid: types.UID(m.UID),
		version: version, generation: m.Generation,
		parents: e.Object.Spec.parents(m.Namespace), entries: s.entries(m.Namespace),
	}
	before, known := i.auditor.objects[w.uid]
	if !known {
		before = &object{toucher: map[entryKey]string{}}
	}
	changed := diff(before.entries, w.entries)
	w.writer = guess(changed)
	if owner, known := i.auditor.gatewayOf(w); known {
		w.writer = owner
	}
	if !e.Listed {
		w.fresh = true // whatever it has, it got while we watched
		if len(changed) > 0 {
			i.count.add(w.writer, "", kind, Counts{Writes: 1})
			i.count.object(w.uid)
			i.count.time(w)
		}
	}
	i.auditor.take(w, !e.Listed)
}

// guess names the writer after the controllers whose entries changed.
func guess(changed []entryChange) string {
	names := map[string]bool{}
	last := ""
	for _, c := range changed {
		names[c.key.controller] = true
		last = c.key.controller
	}
	switch {
	case len(names) > 1:
		return fmt.Sprintf("somebody (%d controllers' entries at once)", len(names))
	case last == "":
		return "somebody"
	}
	return last
}

// Report returns the audit so far, marked as inferred.
func (i *Inference) Report() Report {
	i.mu.Lock()
	defer i.mu.Unlock()
	return finish(Report{Inferred: true, Malformed: i.unclear}, i.options, i.auditor, i.count)
}
