package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// A counter counts writes by writer, kind and time.
type counter struct {
	options Options
	by      map[string]*Writer
	agents  map[string]map[string]bool
	steps   map[step]int
	objects map[types.UID]bool
}

type step struct {
	at           int64 // in steps since Options.Since
	writer, kind string
}

func newCounter(o Options) *counter {
	return &counter{
		options: o, by: map[string]*Writer{}, agents: map[string]map[string]bool{},
		steps: map[step]int{}, objects: map[types.UID]bool{},
	}
}

func (c *counter) add(writer, agent, kind string, counts Counts) {
	w := c.by[writer]
	if w == nil {
		w = &Writer{Name: writer, Kinds: map[string]Counts{}}
		c.by[writer] = w
		c.agents[writer] = map[string]bool{}
	}
	if agent != "" {
		c.agents[writer][agent] = true
	}
	w.Total.add(counts)
	k := w.Kinds[kind]
	k.add(counts)
	w.Kinds[kind] = k
}

func (c *counter) object(uid types.UID) { c.objects[uid] = true }

func (c *counter) time(w write) {
	c.steps[step{int64(w.at.Sub(c.options.Since) / c.options.Step), w.writer, w.kind}]++
}

func (c *counter) writers(a *auditor) []Writer {
	all := make([]Writer, 0, len(c.by))
	for name, w := range c.by {
		w.Agents = slices.Sorted(maps.Keys(c.agents[name]))
		w.Controllers = slices.Sorted(maps.Keys(a.touched[name]))
		all = append(all, *w)
	}
	slices.SortFunc(all, func(x, y Writer) int {
		return cmp.Or(cmp.Compare(y.Total.Writes, x.Total.Writes), strings.Compare(x.Name, y.Name))
	})
	return all
}

func (c *counter) timeline() []Bucket {
	all := make([]Bucket, 0, len(c.steps))
	for s, n := range c.steps {
		all = append(all, Bucket{At: float64(s.at) * c.options.Step.Seconds(), Writer: s.writer, Kind: s.kind, Writes: n})
	}
	slices.SortFunc(all, func(x, y Bucket) int {
		return cmp.Or(cmp.Compare(x.At, y.At), strings.Compare(x.Writer, y.Writer), strings.Compare(x.Kind, y.Kind))
	})
	return all
}
