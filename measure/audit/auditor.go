package audit

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A write is one status write that was accepted.
type write struct {
	at        time.Time
	writer    string
	verb      string
	kind      string
	namespace string
	name      string
	uid       types.UID
	// version orders writes: the resource version after it.
	version    uint64
	generation int64
	// fresh says that the object had no status before its first write.
	fresh bool
	// parents are what a route names in its spec.
	parents []reference
	entries []entry
}

// An auditor follows the statuses of objects from write to write. It knows
// neither logs nor clusters. Writes must come in the order of their versions.
type auditor struct {
	options  Options
	objects  map[types.UID]*object
	problems problems
	// firsts counts, by controller name, for how many objects each writer was
	// the first to add an entry in that name.
	firsts map[string]map[string]int
	// touched is whose entries each writer changed.
	touched map[string]map[string]bool
	// inferred says that writers are guesses.
	inferred bool
}

// An object is the last known status of one.
type object struct {
	version    uint64
	generation int64
	entries    []entry
	// toucher is who last added, changed or removed an entry.
	toucher map[entryKey]string
	// contested counts, at this generation, writes of a pair of writers that
	// changed what the other had done.
	contested map[pair]int
	// seen holds the statuses of this generation, to notice returns.
	seen    map[uint64]bool
	returns int
}

// A pair of writers, in order.
type pair [2]string

func pairOf(a, b string) pair {
	if b < a {
		a, b = b, a
	}
	return pair{a, b}
}

func newAuditor(o Options) *auditor {
	return &auditor{
		options: o, objects: map[types.UID]*object{}, problems: problems{},
		firsts: map[string]map[string]int{}, touched: map[string]map[string]bool{},
	}
}

// changes reports whether w changes the object, as far as the audit knows its
// version.
func (a *auditor) changes(uid types.UID, version uint64) bool {
	o, known := a.objects[uid]
	return !known || o.version != version
}

// take looks at one write. judge is false for writes outside of the window,
// from which it only learns.
func (a *auditor) take(w write, judge bool) {
	o, known := a.objects[w.uid]
	if !known {
		o = &object{toucher: map[entryKey]string{}}
		a.objects[w.uid] = o
	}
	if known && w.version <= o.version {
		return
	}
	if w.generation != o.generation {
		o.contested, o.seen, o.returns = nil, nil, 0
	}
	// Before the first write that we see there was no status if the object was
	// made meanwhile; else it is unknown, and the writer may have found there
	// what it wrote.
	ours := known || w.fresh
	if ours {
		changed := diff(o.entries, w.entries)
		a.learn(o, w, changed)
		if judge {
			a.judge(o, w, changed)
		}
		for _, c := range changed {
			o.toucher[c.key] = w.writer
		}
	}
	o.version, o.generation, o.entries = w.version, w.generation, w.entries
}

// learn remembers who writes in whose name.
func (a *auditor) learn(o *object, w write, changed []entryChange) {
	for _, c := range changed {
		name := c.key.controller
		if name == "" {
			continue
		}
		if a.touched[w.writer] == nil {
			a.touched[w.writer] = map[string]bool{}
		}
		a.touched[w.writer][name] = true
		if c.added > 0 && !slices.ContainsFunc(o.entries, func(e entry) bool { return e.controller == name }) && !o.hadController(name) {
			if a.firsts[name] == nil {
				a.firsts[name] = map[string]int{}
			}
			a.firsts[name][w.writer]++
		}
	}
}

func (o *object) hadController(name string) bool {
	for key := range o.toucher {
		if key.controller == name {
			return true
		}
	}
	return false
}

// An entryChange is what a write did to the entries of one key.
type entryChange struct {
	key entryKey
	// added and removed count entries; both are 0 where one changed its words.
	added, removed int
	// before and after count the entries of the key.
	before, after int
	// observed is the lowest generation of those that are new or changed.
	observed int64
}

// diff compares two lists of entries as multisets by key.
func diff(before, after []entry) []entryChange {
	type sums struct{ before, after []uint64 }
	byKey := map[entryKey]*sums{}
	observed := map[entryKey]int64{}
	var order []entryKey
	at := func(e entry) *sums {
		if byKey[e.entryKey] == nil {
			byKey[e.entryKey] = &sums{}
			order = append(order, e.entryKey)
		}
		return byKey[e.entryKey]
	}
	for _, e := range before {
		s := at(e)
		s.before = append(s.before, e.sum)
	}
	for _, e := range after {
		s := at(e)
		s.after = append(s.after, e.sum)
		if low, ok := observed[e.entryKey]; !ok || e.observed < low {
			observed[e.entryKey] = e.observed
		}
	}
	var changes []entryChange
	for _, key := range order {
		s := byKey[key]
		slices.Sort(s.before)
		slices.Sort(s.after)
		if slices.Equal(s.before, s.after) {
			continue
		}
		n := len(s.after) - len(s.before)
		low, ok := observed[key]
		if !ok {
			low = -1
		}
		changes = append(changes, entryChange{
			key: key, added: max(n, 0), removed: max(-n, 0), before: len(s.before), after: len(s.after), observed: low,
		})
	}
	return changes
}
