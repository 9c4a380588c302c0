package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
)

// A ProblemKind is a sort of wrong status write.
type ProblemKind string

// The kinds of problems.
const (
	// Duplicate: more than one entry of one controller for one parent.
	Duplicate ProblemKind = "duplicate-entries"
	// Foreign: an entry in the name of a controller that is another's.
	Foreign ProblemKind = "foreign-entries"
	// WrongParent: an entry for a Gateway that is another controller's.
	WrongParent ProblemKind = "entries-for-others-gateways"
	// NoParent: an entry for a parent that the route does not name.
	NoParent ProblemKind = "entries-for-no-parent"
	// Trespass: a status of a Gateway that is another controller's.
	Trespass ProblemKind = "writes-to-others-gateways"
	// War: two writers that keep changing what the other wrote.
	War ProblemKind = "status-war"
	// Restless: a status with entries of several controllers that keeps
	// returning to what it was before. It stands for War where writers cannot
	// be told.
	Restless ProblemKind = "status-flips"
	// Stale: written about a generation that was already over.
	Stale ProblemKind = "stale-generation"
	// Unobserved: conditions that do not say which generation they are about.
	Unobserved ProblemKind = "no-observed-generation"
)

// A Problem is one sort of wrong write by one writer.
type Problem struct {
	Kind   ProblemKind
	Writer string
	// Other is whose entries, Gateways or writes are concerned.
	Other string
	// Writes is how often, Objects on how many objects.
	Writes, Objects int
	// Worst names the object with the most, and how many it has: entries for
	// Duplicate, writes otherwise.
	Worst      string
	WorstCount int
	// Evidence is the first such writes, a line each: time, verb, writer,
	// object, and the controller names of the entries after it.
	Evidence []string
}

const evidenceLines = 6

type problemKey struct {
	kind          ProblemKind
	writer, other string
}

type problems map[problemKey]*tally

type tally struct {
	Problem
	objects map[string]int
}

// note counts one wrong write. weight is what makes an object the worst.
func (p problems) note(key problemKey, w write, weight int) {
	t := p[key]
	if t == nil {
		t = &tally{Problem: Problem{Kind: key.kind, Writer: key.writer, Other: key.other}, objects: map[string]int{}}
		p[key] = t
	}
	t.Writes++
	name := w.object()
	if weight == 0 {
		weight = t.objects[name] + 1
	}
	t.objects[name] = max(t.objects[name], weight)
	if t.objects[name] > t.WorstCount {
		t.Worst, t.WorstCount = name, t.objects[name]
	}
	if len(t.Evidence) < evidenceLines {
		t.Evidence = append(t.Evidence, w.line())
	}
}

func (w write) object() string { return w.kind + " " + w.namespace + "/" + w.name }

func (w write) line() string {
	var names []string
	for _, e := range w.entries {
		if e.controller != "" {
			names = append(names, e.controller)
		}
	}
	const most = 24
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("... %d in all", len(w.entries)))
	}
	return fmt.Sprintf("%s %s %s %s [%s]", w.at.UTC().Format(time.RFC3339Nano), w.verb, w.writer, w.object(), strings.Join(names, ", "))
}

// verdict lists the problems, worst first.
func (a *auditor) verdict() []Problem {
	var all []Problem
	for key, t := range a.problems {
		if (key.kind == Foreign || key.kind == Trespass) && !a.isForeign(key) || key.kind == War && a.inferred || key.kind == Restless && !a.inferred {
			continue
		}
		t.Objects = len(t.objects)
		all = append(all, t.Problem)
	}
	slices.SortFunc(all, func(x, y Problem) int {
		if x.Kind != y.Kind {
			return rank(x.Kind) - rank(y.Kind)
		}
		if x.Writes != y.Writes {
			return y.Writes - x.Writes
		}
		return strings.Compare(x.Writer+x.Other, y.Writer+y.Other)
	})
	return all
}

// isForeign reports whether the writer is known not to own the name. A guessed
// writer proves nothing.
func (a *auditor) isForeign(key problemKey) bool {
	is, known := a.owner(key.other)
	return known && !is(key.writer) && !a.inferred
}

func rank(k ProblemKind) int {
	return slices.Index([]ProblemKind{War, Restless, Foreign, WrongParent, NoParent, Trespass, Duplicate, Stale, Unobserved}, k)
}

// Finding tells a problem to a user. prefix is the scenario's name.
func (p Problem) Finding(prefix string) result.Finding {
	f := result.Finding{ID: prefix + "/" + string(p.Kind), Severity: result.Notable}
	on := fmt.Sprintf("%d writes on %d objects, most on %s", p.Writes, p.Objects, p.Worst)
	switch p.Kind {
	case War:
		f.Severity = result.Costly
		f.Text = fmt.Sprintf("%s and %s keep changing each other's status entries (%s)", p.Writer, p.Other, on)
	case Restless:
		f.Text = fmt.Sprintf("a status keeps returning to what it was before, last written by %s (%s)", p.Writer, on)
	case Foreign:
		f.Text = fmt.Sprintf("%s writes status entries in the name of %s, which is another controller (%s)", p.Writer, p.Other, on)
	case WrongParent:
		f.Text = fmt.Sprintf("%s writes status entries for Gateways of %s (%s)", p.Writer, p.Other, on)
	case NoParent:
		f.Text = fmt.Sprintf("%s writes status entries of %s for parents that the route does not name (%s)", p.Writer, p.Other, on)
	case Trespass:
		f.Text = fmt.Sprintf("%s writes the status of Gateways of %s (%s)", p.Writer, p.Other, on)
	case Duplicate:
		if p.Other == "" {
			f.Text = fmt.Sprintf("%s writes several status entries for one listener (%s)", p.Writer, on)
			break
		}
		f.Text = fmt.Sprintf("%s writes several status entries of %s for one parent (%d writes on %d objects, up to %d entries on %s)",
			p.Writer, p.Other, p.Writes, p.Objects, p.WorstCount, p.Worst)
	case Stale:
		f.Text = fmt.Sprintf("%s writes statuses about a generation that is over (%s)", p.Writer, on)
	case Unobserved:
		f.Severity = result.Info
		f.Text = fmt.Sprintf("%s writes conditions without observedGeneration (%s)", p.Writer, on)
	}
	f.Evidence = []result.Evidence{{Name: "status writes", Text: strings.Join(p.Evidence, "\n")}}
	return f
}

// Findings tells every problem.
func (r Report) Findings(prefix string) []result.Finding {
	var all []result.Finding
	for _, p := range r.Problems {
		f := p.Finding(prefix)
		if r.Inferred {
			f.Text += " (inferred from watch history)"
		}
		all = append(all, f)
	}
	return all
}
