package routepropagation

import (
	"fmt"
	"time"

	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// answerNoticed is how long an answer may take: the backend's own is there in
// a fraction of a millisecond.
const answerNoticed = 500 * time.Millisecond

// answers are what is kept of the probes of a route.
type answers struct {
	// all are complete answers, slow ones took over answerNoticed.
	all, slow int
	slowest   time.Duration
}

// answersOf looks at the probes while they are there.
func answersOf(o *probe.Outcome) answers {
	var a answers
	for i := range o.Lanes {
		lane := &o.Lanes[i]
		for j := range lane.Samples {
			s := &lane.Samples[j]
			if s.Status == 0 {
				continue
			}
			took := s.Received - s.Sent
			a.all++
			a.slowest = max(a.slowest, took)
			if took > answerNoticed {
				a.slow++
			}
		}
	}
	return a
}

func (p *propagation) findSlowAnswers() {
	var total answers
	var lines []string
	for i := range p.routes {
		a := &p.routes[i].answers
		total.all += a.all
		total.slow += a.slow
		total.slowest = max(total.slowest, a.slowest)
		if a.slow > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d of %d answers, the slowest after %s", p.routes[i].name, a.slow, a.all, scenario.Seconds(a.slowest.Seconds())))
		}
	}
	if total.slow == 0 {
		return
	}
	p.Find("slow-answers", result.Costly,
		fmt.Sprintf("%d of %d answers took longer than %s, the slowest %s", total.slow, total.all, answerNoticed, scenario.Seconds(total.slowest.Seconds())),
		result.Evidence{Name: "slow answers by route", Text: scenario.Excerpt(lines)})
}

// findErrorsAtRest looks at what was asked before the writes: an error there is
// no matter of change.
func (p *propagation) findErrorsAtRest() {
	var before probe.Counts
	for i := range p.routes {
		c := p.routes[i].outcome.Total(func(l *probe.Lane) *probe.Counts { return &l.Before })
		before.Add(&c)
	}
	for class := range before.Errors {
		if class.Ours() {
			delete(before.Errors, class)
		}
	}
	n := before.ErrorCount()
	if n == 0 {
		return
	}
	p.Find("errors-at-rest", result.Broken,
		fmt.Sprintf("before a route was written, %d of %d probes for it ended in an error (%s), where only %s is correct: these errors come without any change",
			n, before.Sent, classes(before), p.route().Unserved),
		result.Evidence{Name: "answers by status", Text: fmt.Sprint(before.Status)})
}
