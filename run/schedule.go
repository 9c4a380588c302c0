// Package run turns a plan into trials: it orders them in randomised blocks,
// isolates them from each other, repeats invalid ones, writes each to disk as
// it ends, and goes on where it stopped. What a trial means is its scenario's
// to say; what trials mean together is the report's.
package run

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/result"
)

// Schedule orders every trial of a plan. Each block holds each scenario on
// each implementation once, shuffled: drift of the machine then hits all
// treatments alike instead of looking like a difference between them (Abedi
// and Brecht, "Conducting Repeatable Experiments in Highly Variable Cloud
// Computing Environments", ICPE 2017). The same seed gives the same order.
func Schedule(p *plan.Plan) []result.TrialRef {
	random := rand.New(rand.NewPCG(p.Seed, 0))
	var all []result.TrialRef
	for block := 1; block <= p.Repeats; block++ {
		var refs []result.TrialRef
		for _, s := range p.Scenarios {
			for _, i := range p.Implementations {
				refs = append(refs, result.TrialRef{
					ID:             trialID(block, s, i),
					Implementation: i.String(),
					Scenario:       s.Name,
					Variant:        s.Variant,
					Block:          block,
				})
			}
		}
		random.Shuffle(len(refs), func(a, b int) { refs[a], refs[b] = refs[b], refs[a] })
		all = append(all, refs...)
	}
	return all
}

// longestID leaves room, in the 63 characters of a label, for the suffix of an
// attempt.
const longestID = 63 - len("-attempt3")

// trialID sorts by block and is fit for a file name and a label.
func trialID(block int, s plan.Trial, i plan.Treatment) string {
	id := strings.NewReplacer("/", "-", "#", "-", "@", "-", "=", "-").Replace(fmt.Sprintf("b%02d-%s-%s", block, s, i))
	if len(id) <= longestID {
		return id
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	sum := fmt.Sprintf("-%08x", h.Sum32())
	return strings.TrimRight(id[:longestID-len(sum)], "-") + sum
}

// AttemptID names an attempt at a trial: the trial's own name for the first
// one, and with a suffix after that.
func AttemptID(id string, attempt int) string {
	if attempt <= 1 {
		return id
	}
	return fmt.Sprintf("%s-attempt%d", id, attempt)
}
