package run

import (
	"testing"
	"time"

	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/question"
)

// TestEveryScenarioRunsWithItsDefaults: they resolve, and a scenario can read
// each of its parameters in the type that it asks for.
func TestEveryScenarioRunsWithItsDefaults(t *testing.T) {
	all, err := catalogue(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range question.All() {
		p := &plan.Plan{APIVersion: plan.APIVersion, Kind: plan.Kind,
			Implementations: []plan.Treatment{{Name: all.Implementations[0].Name}}, Scenarios: []plan.Trial{{Name: s.Name}}}
		resolved, err := p.Resolve(all)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		values := scenario.Values(resolved.Scenarios[0].Parameters)
		if len(s.Writes(values)) == 0 || s.Estimate(values) <= 0 {
			t.Errorf("%s writes %v in %s", s.Name, s.Writes(values), s.Estimate(values))
		}
		if s.Title == "" || s.Question == "" || s.Method == "" || len(s.Headline) == 0 {
			t.Errorf("%s does not say what it asks", s.Name)
		}
		for _, parameter := range s.Parameters {
			if parameter.Help == "" {
				t.Errorf("%s.%s has no help", s.Name, parameter.Name)
			}
			if _, bounded := parameter.Default.(string); !bounded && parameter.Min >= parameter.Max {
				t.Errorf("%s.%s has bounds %g to %g", s.Name, parameter.Name, parameter.Min, parameter.Max)
			}
		}
	}
}

// TestEveryProfileIsWhatItSays, on what there really is.
func TestEveryProfileIsWhatItSays(t *testing.T) {
	all, err := catalogue(nil)
	if err != nil {
		t.Fatal(err)
	}
	// Between: smoke is "about 8 minutes", standard "about three hours".
	limits := map[string][2]time.Duration{
		"smoke": {5 * time.Minute, 9 * time.Minute}, "standard": {2 * time.Hour, 200 * time.Minute}, "seed": {time.Hour, 3 * time.Hour},
	}
	for _, name := range plan.Profiles() {
		p, err := plan.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := p.Resolve(all)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		took := setUp + estimate(resolved)*time.Duration(resolved.Repeats)
		if limit := limits[name]; took < limit[0] || took > limit[1] {
			t.Errorf("%s is estimated at %s, want %s to %s", name, took, limit[0], limit[1])
		}
	}
}
