package audit

import (
	"hash/maphash"
	"slices"
	"strings"
)

// judge compares a write with what was there before it.
func (a *auditor) judge(o *object, w write, changed []entryChange) {
	noted := map[problemKey]bool{} // a write counts once for each problem
	note := func(kind ProblemKind, other string, weight int) {
		key := problemKey{kind, w.writer, other}
		if !noted[key] {
			noted[key] = true
			a.problems.note(key, w, weight)
		}
	}
	if owner, known := a.gatewayOf(w); known && len(changed) > 0 {
		note(Trespass, owner, 0) // the verdict keeps it if the writer is another
	}
	rivals := map[string]bool{}
	for _, c := range changed {
		if c.after > 1 && c.after > c.before {
			note(Duplicate, c.key.controller, len(w.entries))
		}
		if c.after > c.before && c.observed >= w.generation && len(w.parents) > 0 && !slices.Contains(w.parents, c.key.ref) {
			note(NoParent, c.key.controller, 0)
		}
		if rightful, known := a.rightful(c.key); known && c.after >= c.before && rightful != c.key.controller {
			note(WrongParent, rightful, 0)
		}
		if c.key.controller != "" {
			note(Foreign, c.key.controller, 0) // the verdict keeps it if the name is another's
		}
		if c.after > 0 && c.observed == 0 {
			note(Unobserved, "", 0)
		} else if c.after > 0 && c.observed > 0 && c.observed < w.generation {
			note(Stale, "", 0)
		}
		if last := o.toucher[c.key]; last != "" && last != w.writer {
			rivals[last] = true
		}
	}
	for rival := range rivals {
		a.judgeRivals(o, w, pairOf(w.writer, rival))
	}
	if len(changed) > 0 {
		a.judgeReturn(o, w)
	}
}

// judgeRivals counts a write that changed what another writer had done.
func (a *auditor) judgeRivals(o *object, w write, p pair) {
	if o.contested == nil {
		o.contested = map[pair]int{}
	}
	o.contested[p]++
	if o.contested[p] >= a.options.WarLength {
		a.problems.note(problemKey{War, p[0], p[1]}, w, o.contested[p])
	}
}

// rightful is the controller of the Gateway that an entry is about.
func (a *auditor) rightful(key entryKey) (string, bool) {
	if a.options.ControllerOf == nil || key.controller == "" || key.ref.Kind != "Gateway" {
		return "", false
	}
	return a.options.ControllerOf(key.ref.Namespace, key.ref.Name)
}

// gatewayOf is the controller of the Gateway that a write is about.
func (a *auditor) gatewayOf(w write) (string, bool) {
	if a.options.ControllerOf == nil || w.kind != "gateways" {
		return "", false
	}
	return a.options.ControllerOf(w.namespace, w.name)
}

// judgeReturn counts how often a status comes back to what it was.
func (a *auditor) judgeReturn(o *object, w write) {
	if !slices.ContainsFunc(w.entries, func(e entry) bool { return e.controller != w.entries[0].controller }) {
		return
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for _, e := range w.entries {
		maphash.WriteComparable(&h, e)
	}
	if o.seen == nil {
		o.seen = map[uint64]bool{}
	}
	sum := h.Sum64()
	if o.seen[sum] {
		o.returns++
	} else if len(o.seen) > 64 {
		clear(o.seen)
	}
	o.seen[sum] = true
	if o.returns >= a.options.WarLength {
		a.problems.note(problemKey{Restless, w.writer, ""}, w, o.returns)
	}
}

// owner is whose controller name that is: as told, or else the writer that was
// the first to use it on most objects.
func (a *auditor) owner(controller string) (is func(writer string) bool, known bool) {
	if prefixes, told := a.options.Owners[controller]; told {
		return func(writer string) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(writer, p) })
		}, true
	}
	best, known := a.first(controller)
	return func(writer string) bool { return writer == best }, known
}

// first is the writer that was the first to use a controller's name on most
// objects.
func (a *auditor) first(controller string) (best string, known bool) {
	most := 0
	for writer, n := range a.firsts[controller] {
		if n > most || n == most && writer < best {
			best, most = writer, n
		}
	}
	return best, most > 0
}

func (a *auditor) owners() map[string]string {
	all := map[string]string{}
	for controller := range a.firsts {
		if writer, known := a.first(controller); known {
			all[controller] = writer
		}
	}
	return all
}
