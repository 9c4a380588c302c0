package run

import (
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/scenario/question"
)

// Scenarios lists what a plan can ask for.
func Scenarios() []plan.Scenario {
	var all []plan.Scenario
	for _, s := range question.All() {
		entry := plan.Scenario{Name: s.Name, Check: s.Check}
		for _, p := range s.Parameters {
			entry.Parameters = append(entry.Parameters, plan.Parameter(p))
		}
		all = append(all, entry)
	}
	return all
}
