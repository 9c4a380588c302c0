package usage

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/measure/usage/reading"
)

// A Member is something that uses resources: a pod, or another cgroup of a node.
type Member struct {
	Node string
	// Pod is nil for what is no pod's, and has only its UID for a pod that the
	// API server was never seen to have.
	Pod *Pod
	// Name is the last part of the cgroup's path, without ".service" and the like.
	Name string
}

// Rest is the role of what has none: what a node used beyond all that has one.
const Rest = "rest"

// A Use is what the members of a role used within a window, together. A number
// that nobody knows is NaN. Times are in seconds, sizes in bytes.
type Use struct {
	// CPU is the time used. Throttled is for how long CPU limits kept containers
	// from running, and Stalled for how long tasks of theirs waited for a CPU.
	CPU, Throttled, Stalled float64
	// Begin and End are working sets at the window's edges, and Peak is the most
	// that the sum of all was at any sample.
	Begin, End, Peak float64
	// In and Out are bytes of network traffic of pods with a network of their own.
	In, Out float64
	// Guess is the part of CPU that is not theirs for sure: they died together
	// with others.
	Guess float64
	// Members is how many there were.
	Members int
}

// A Window is what was used between two instants.
type Window struct {
	From, To time.Time
	// Uses are by role, Rest among them.
	Uses map[string]Use
	// Each is by member, in the order of role, namespace and name. It has what has
	// a role.
	Each []MemberUse
	// At are instants since From, in seconds, CPU the CPU time until then and
	// Memory the working set then, by role.
	At     []float64
	CPU    map[string][]float64
	Memory map[string][]float64
	// Gap is the longest time without a sample, on GapNode, whose samples should
	// be Interval apart.
	Gap, Interval time.Duration
	GapNode       string
	// Faults are what went wrong, by node.
	Faults map[string]string
}

// A MemberUse is what one member used.
type MemberUse struct {
	Role string
	Member
	Use
}

// Window adds up what was used between two instants. role tells what a member
// is, or "" for nothing in particular.
func (ob *Observer) Window(from, to time.Time, role func(Member) string) *Window {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	w := &window{observer: ob, from: int64(from.Sub(ob.start)), to: int64(to.Sub(ob.start)), roles: map[string][]*member{}}
	w.assign(role)
	out := &Window{From: from, To: to, Uses: map[string]Use{}, CPU: map[string][]float64{}, Memory: map[string][]float64{}, Faults: map[string]string{}}
	w.cover(out, role)
	grid := w.grid()
	for _, at := range grid {
		out.At = append(out.At, float64(at-w.from)/1e9)
	}
	for name, members := range w.roles {
		out.Uses[name], out.CPU[name], out.Memory[name] = w.total(members, grid)
		for _, m := range members {
			if name != Rest && m.series.group.Kind != reading.Node {
				one, _, _ := w.total([]*member{m}, grid)
				out.Each = append(out.Each, MemberUse{name, m.Member, one})
			}
		}
	}
	w.rest(out, grid)
	slices.SortFunc(out.Each, func(a, b MemberUse) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.label(), b.label()), cmp.Compare(a.Node, b.Node))
	})
	for node, text := range ob.faults {
		out.Faults[node] = text
	}
	return out
}

// String is how a member is called: namespace/name of a pod.
func (m Member) String() string {
	switch {
	case m.Pod == nil:
		return m.Name
	case m.Pod.Name == "":
		return "pod " + m.Pod.UID
	}
	return m.Pod.Namespace + "/" + m.Pod.Name
}

func (m MemberUse) label() string { return m.Member.String() }

// A member is one with what was read of it.
type member struct {
	Member
	series     *series
	containers []*series
}

type window struct {
	observer *Observer
	from, to int64
	nodes    []*member
	roles    map[string][]*member
}

// assign finds every member and its role.
func (w *window) assign(role func(Member) string) {
	containers := map[string][]*series{}
	for _, s := range w.observer.series {
		if s.group.Kind == reading.Container {
			containers[s.group.Pod] = append(containers[s.group.Pod], s)
		}
	}
	for _, s := range w.observer.series {
		if !s.within(w.from, w.to) {
			continue
		}
		m := &member{Member: Member{Node: s.node, Name: plain(s.group.Path)}, series: s}
		switch s.group.Kind {
		case reading.Node:
			w.nodes = append(w.nodes, m)
			continue
		case reading.Pods, reading.Container:
			continue // they are in others
		case reading.Pod:
			m.containers = containers[s.group.Pod]
			if m.Pod = w.observer.known[s.group.Pod]; m.Pod == nil {
				m.Pod = &Pod{UID: s.group.Pod, Node: s.node}
			}
		case reading.Other:
		}
		if r := role(m.Member); r != "" && r != Rest {
			w.roles[r] = append(w.roles[r], m)
		}
	}
}

// within reports whether the group lived at any instant of the window.
func (s *series) within(from, to int64) bool {
	n := len(s.points)
	return n > 0 && s.points[0].at <= to && !(s.gone && s.points[n-1].at < from)
}

// plain is the name of a service without systemd's ending.
func plain(of string) string {
	name := path.Base(of)
	for _, ending := range []string{".service", ".slice", ".scope"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// grid is the window's edges and the instants of the samples within. Nodes are
// sampled each at its own instants: those of the first are as good as any.
func (w *window) grid() []int64 {
	grid := []int64{w.from}
	if len(w.nodes) > 0 {
		first := slices.MinFunc(w.nodes, func(a, b *member) int { return cmp.Compare(a.Node, b.Node) })
		for _, at := range w.observer.ticks[first.Node] {
			if at > grid[len(grid)-1] && at < w.to {
				grid = append(grid, at)
			}
		}
	}
	return append(grid, w.to)
}

// total adds members up, over the window and at the instants of the grid.
func (w *window) total(members []*member, grid []int64) (u Use, cpu, memory []float64) {
	u.Members = len(members)
	u.Throttled, u.Stalled, u.In, u.Out = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	for _, m := range members {
		u.CPU += m.series.used(cpuOf, w.from, w.to)
		u.Guess += float64(m.series.guess) / 1e9
		add(&u.Stalled, m.series.used(stallOf, w.from, w.to))
		// A limit stops the very cgroup that has it.
		for _, s := range append([]*series{m.series}, m.containers...) {
			add(&u.Throttled, s.used(throttledOf, w.from, w.to))
		}
		if m.Pod != nil && !m.Pod.HostNetwork {
			add(&u.In, m.series.used(inOf, w.from, w.to))
			add(&u.Out, m.series.used(outOf, w.from, w.to))
		}
	}
	u.CPU /= 1e9
	u.Throttled /= 1e9
	u.Stalled /= 1e9
	for _, at := range grid {
		spent, held := 0.0, 0.0
		for _, m := range members {
			spent += m.series.used(cpuOf, w.from, at)
			held += m.series.level(memoryOf, at)
		}
		cpu, memory = append(cpu, spent/1e9), append(memory, held)
		u.Peak = math.Max(u.Peak, held) // NaN where any is
	}
	u.Begin, u.End = memory[0], memory[len(memory)-1]
	return u, cpu, memory
}

// add adds what is known to a sum of which nothing may be known yet.
func add(to *float64, v float64) {
	switch {
	case math.IsNaN(v):
	case math.IsNaN(*to):
		*to = v
	default:
		*to += v
	}
}

// rest is what the nodes used beyond all roles.
func (w *window) rest(out *Window, grid []int64) {
	all, cpu, memory := w.total(w.nodes, grid)
	rest := Use{
		CPU: all.CPU, Begin: all.Begin, End: all.End, Members: len(w.nodes),
		Throttled: math.NaN(), Stalled: math.NaN(), In: math.NaN(), Out: math.NaN(),
	}
	for name := range w.roles {
		u := out.Uses[name]
		rest.CPU -= u.CPU
		rest.Begin -= u.Begin
		rest.End -= u.End
		for i := range grid {
			cpu[i] -= out.CPU[name][i]
			memory[i] -= out.Memory[name][i]
		}
	}
	// Readings are not all of one instant, so that what is left of little may
	// come out below nothing.
	rest.CPU, rest.Begin, rest.End = max(0, rest.CPU), max(0, rest.Begin), max(0, rest.End)
	for i := range grid {
		cpu[i], memory[i] = max(0, cpu[i]), max(0, memory[i])
		rest.Peak = math.Max(rest.Peak, memory[i])
	}
	out.Uses[Rest], out.CPU[Rest], out.Memory[Rest] = rest, cpu, memory
}

// cover finds the longest time without a sample, on nodes where anything with a
// role is. A node that was never sampled has one as long as the window.
func (w *window) cover(out *Window, role func(Member) string) {
	ob := w.observer
	nodes := map[string]bool{}
	for node := range ob.ticks {
		nodes[node] = true
	}
	for _, pod := range ob.known {
		if pod.Node != "" && !nodes[pod.Node] && role(Member{Node: pod.Node, Pod: pod}) != "" {
			nodes[pod.Node] = true
		}
	}
	for node := range nodes {
		gap := longestGap(ob.ticks[node], w.from, w.to)
		if gap > out.Gap || out.GapNode == "" || gap == out.Gap && node < out.GapNode {
			out.Gap, out.GapNode = gap, node
		}
		out.Interval = max(out.Interval, time.Duration(ob.every[node]))
	}
}

func longestGap(ticks []int64, from, to int64) time.Duration {
	longest, last := int64(0), from
	for _, at := range ticks {
		if at > last && at < to {
			longest, last = max(longest, at-last), at
		}
	}
	return time.Duration(max(longest, to-last))
}
