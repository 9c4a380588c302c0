package sampler

import (
	"slices"
	"time"

	"github.com/gatemark/gatemark/measure/usage/cgroup"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

// idleReads is after how many samples a pod that stands still is read whole: the
// kernel may take memory from it, and packets may come to it. Pods take turns.
const idleReads = 10

// A group is one that is followed.
type group struct {
	reading.Group
	number   int
	cgroup   *cgroup.Group
	parent   *group
	children []*group
	network  *network // of a pod, once it was found

	last reading.Reading // that was logged
	// checked is when CPU was last seen to be as in last.
	checked int64
	ended   bool // its folder was removed
	// A pod whose network is not found is looked for again, less and less often.
	search int64
	pause  time.Duration
	// buried is the CPU time of children that are gone, as far as it was given
	// to them.
	buried int64
}

// read reads the group: whole, or no more than it takes to see that it stands
// still. It reports whether there is something to log.
func (g *group) read(now func() int64, whole bool, tick int) (reading.Reading, bool, error) {
	cpu, err := g.cgroup.CPU()
	at := now()
	if err != nil {
		return reading.Reading{}, false, err
	}
	still := cpu == g.last.CPU && g.last.At != 0
	due := g.Kind != reading.Container && (tick+g.number)%idleReads == 0
	if still && !whole && !due {
		g.checked = at
		return reading.Reading{}, false, nil
	}
	r := reading.Reading{Group: g.number, At: at, In: cgroup.Unknown, Out: cgroup.Unknown}
	if g.checked > g.last.At {
		r.Since = g.checked
	}
	if r.Counters, err = g.cgroup.Read(cpu); err != nil {
		return reading.Reading{}, false, err
	}
	if g.network != nil {
		r.In, r.Out = g.network.read()
	}
	g.last, g.checked = r, r.At
	return r, true, nil
}

// A funeral finds what children that died had used at last.
type funeral struct {
	parent *group
	dead   []*group
}

// extra is what the parent has beyond its living children and those that were
// buried before: it belongs to those that died. The parent must have been read
// after they did.
func (f funeral) extra() int64 {
	rest := f.parent.last.CPU - f.parent.buried
	for _, child := range f.parent.children {
		if !slices.Contains(f.dead, child) {
			rest -= child.last.CPU
		}
	}
	return max(0, rest)
}

// bury returns the last reading of each of the dead.
func (f funeral) bury(at int64) []reading.Reading {
	extra := f.extra()
	known := int64(0)
	for _, g := range f.dead {
		known += g.last.CPU
	}
	// What they were last seen with is theirs. The rest is one's for sure if
	// there is only one.
	beyond := max(0, extra-known)
	var last []reading.Reading
	for i, g := range f.dead {
		r := g.last
		r.At, r.Since, r.Gone = at, g.checked, true
		share := beyond / int64(len(f.dead))
		if i == 0 {
			share += beyond % int64(len(f.dead))
		}
		r.CPU += share
		if len(f.dead) > 1 {
			r.Guess = share
		}
		f.parent.buried += r.CPU
		last = append(last, r)
	}
	return last
}
