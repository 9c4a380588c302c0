package run

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/result"
	"github.com/google/go-cmp/cmp"
)

func TestScheduleIsInterleavedAndReproducible(t *testing.T) {
	p := &plan.Plan{
		Implementations: []plan.Treatment{{Name: "a"}, {Name: "b", Variant: "v"}},
		Scenarios:       []plan.Trial{{Name: "s"}, {Name: "s", Variant: "w"}, {Name: "t"}},
		Repeats:         20, Seed: 7,
	}
	refs := Schedule(p)
	if len(refs) != 20*2*3 {
		t.Fatalf("%d trials, want 120", len(refs))
	}
	orders := map[string]bool{}
	ids := map[string]bool{}
	for block := 1; block <= 20; block++ {
		order, treatments := "", map[result.TrialRef]bool{}
		for _, r := range refs[(block-1)*6 : block*6] {
			if r.Block != block {
				t.Fatalf("%s stands in block %d", r.ID, block)
			}
			ids[r.ID] = true
			order += r.Scenario + r.Variant + r.Implementation + " "
			treatments[result.TrialRef{Scenario: r.Scenario, Variant: r.Variant, Implementation: r.Implementation}] = true
		}
		if len(treatments) != 6 {
			t.Errorf("block %d has %d treatments, want 6", block, len(treatments))
		}
		orders[order] = true
	}
	if len(ids) != len(refs) {
		t.Errorf("%d names for %d trials", len(ids), len(refs))
	}
	if len(orders) < 15 {
		t.Errorf("20 blocks came in %d orders only", len(orders))
	}
	if diff := cmp.Diff(refs, Schedule(p)); diff != "" {
		t.Errorf("the same seed gave another order:\n%s", diff)
	}
	p.Seed = 8
	if cmp.Equal(refs, Schedule(p)) {
		t.Error("another seed gave the same order")
	}
}

// Names become labels, with the suffix of the last attempt: 63 characters.
func TestNamesAreFitForALabel(t *testing.T) {
	long := strings.Repeat("v", 30)
	p := &plan.Plan{
		Implementations: []plan.Treatment{{Name: "envoy-gateway"}, {Name: "envoy-gateway", Copy: 2}},
		Scenarios:       []plan.Trial{{Name: "route-propagation", Variant: long}, {Name: "route-propagation", Variant: long[1:] + "w"}, {Name: "s"}},
		Repeats:         100,
	}
	ids := map[string]bool{}
	for _, ref := range Schedule(p) {
		id := AttemptID(ref.ID, MaxAttempts)
		if problems := validation.IsValidLabelValue(id); problems != nil {
			t.Errorf("%s: %q", id, problems)
		}
		ids[id] = true
	}
	if len(ids) != 600 || !ids["b01-s-envoy-gateway-2-attempt3"] {
		t.Errorf("%d names for 600 trials", len(ids))
	}
}
