package audit

import (
	"time"

	"github.com/gatemark/gatemark/result"
)

// A Report is the status audit of a window of time.
type Report struct {
	// Inferred is set where there was no audit log: writers are then guessed
	// from whose entries changed, and writes that changed nothing are unseen.
	Inferred bool
	From, To time.Time
	// Lines were read from the log, Malformed of them could not be understood.
	Lines, Malformed int
	// Torn is set where the log ended in the middle of a line.
	Torn bool
	// Objects is how many objects had their status written.
	Objects int
	// OtherWrites counts writes to Gateway API objects that were no status.
	OtherWrites int
	// Writers are sorted by how much they wrote.
	Writers []Writer
	// Owners are the writers that were the first to use a controller's name on
	// most objects, by that name.
	Owners   map[string]string
	Problems []Problem
	// Timeline counts effective writes in steps of Options.Step.
	Timeline []Bucket
}

// A Writer is a user of the API that wrote statuses.
type Writer struct {
	// Name is the user, such as a service account. In an inferred report it is
	// the controller's name.
	Name string
	// Agents are the user agents that it was seen with.
	Agents []string
	// Controllers are the controller names whose entries it changed.
	Controllers []string
	Total       Counts
	// Kinds counts by resource: httproutes, gateways.
	Kinds map[string]Counts
}

// Counts of status writes.
type Counts struct {
	// Writes changed the object; NoOps were accepted and changed nothing.
	Writes, NoOps int
	// Conflicts were refused because the object had changed (409), Errors for
	// another reason.
	Conflicts, Errors int
}

func (c *Counts) add(d Counts) {
	c.Writes += d.Writes
	c.NoOps += d.NoOps
	c.Conflicts += d.Conflicts
	c.Errors += d.Errors
}

// A Bucket counts the effective status writes of a writer to a kind in one
// step of time.
type Bucket struct {
	// At is the beginning of the step, in seconds since Report.From.
	At           float64
	Writer, Kind string
	Writes       int
}

// Series is the timeline as cumulative counts, a column of labels for the
// writers.
func (r Report) Series(name, title string) result.Series {
	var at, total result.Numbers
	var writers, kinds []string
	sums := map[[2]string]int{}
	for _, b := range r.Timeline {
		key := [2]string{b.Writer, b.Kind}
		sums[key] += b.Writes
		at, total = append(at, b.At), append(total, float64(sums[key]))
		writers, kinds = append(writers, b.Writer), append(kinds, b.Kind)
	}
	return result.Series{Name: name, Title: title, Columns: []result.Column{
		{Name: "at", Unit: "s", Values: at},
		{Name: "writes", Title: "status writes so far", Unit: "1", Values: total},
		{Name: "writer", Labels: writers},
		{Name: "kind", Labels: kinds},
	}}
}

// By returns the counts of writers that match, for all kinds or for one.
func (r Report) By(match func(Writer) bool, kind string) Counts {
	var sum Counts
	for _, w := range r.Writers {
		switch {
		case !match(w):
		case kind == "":
			sum.add(w.Total)
		default:
			sum.add(w.Kinds[kind])
		}
	}
	return sum
}
