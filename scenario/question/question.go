// Package question lists the scenarios: the questions that can be asked.
package question

import (
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/addedlatency"
	"github.com/gatemark/gatemark/scenario/architecture"
	"github.com/gatemark/gatemark/scenario/attachedroutes"
	"github.com/gatemark/gatemark/scenario/backendfailover"
	"github.com/gatemark/gatemark/scenario/capacity"
	"github.com/gatemark/gatemark/scenario/elasticlatency"
	"github.com/gatemark/gatemark/scenario/planerestart"
	"github.com/gatemark/gatemark/scenario/routechange"
	"github.com/gatemark/gatemark/scenario/routepropagation"
	"github.com/gatemark/gatemark/scenario/routescale"
	"github.com/gatemark/gatemark/scenario/traffic"
)

// All lists the scenarios, in the order in which a reader wants them.
func All() []*scenario.Scenario {
	return []*scenario.Scenario{
		routepropagation.Scenario,
		routechange.Scenario,
		traffic.Scenario,
		addedlatency.Scenario,
		capacity.Scenario,
		elasticlatency.Scenario,
		backendfailover.Scenario,
		planerestart.Scenario,
		routescale.Scenario,
		routescale.ListenerSets,
		attachedroutes.Scenario,
		architecture.Scenario,
	}
}

// Find returns the scenario of that name, or nil.
func Find(name string) *scenario.Scenario {
	for _, s := range All() {
		if s.Name == name {
			return s
		}
	}
	return nil
}
