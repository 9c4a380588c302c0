package attack

import (
	"math"
	"testing"
	"time"

	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/scenario"
)

func TestUseIsDivided(t *testing.T) {
	w := &usage.Window{From: time.Unix(0, 0), To: time.Unix(2, 0), Uses: map[string]usage.Use{
		scenario.DataPlaneRole: {CPU: 1, Peak: 5}, scenario.OurRole: {CPU: 1.5}, usage.Rest: {CPU: 0.25},
	}}
	of := func(role, namespace, name string, cpu float64) {
		w.Each = append(w.Each, usage.MemberUse{Role: role, Member: usage.Member{Pod: &usage.Pod{Namespace: namespace, Name: name}}, Use: usage.Use{CPU: cpu}})
	}
	of(scenario.DataPlaneRole, "gm-1", "proxy", 1)
	of(scenario.OurRole, "gm-1", "echo-1", 0.5)
	of(scenario.OurRole, "run", "attacker-1-0", 0.25)
	of(scenario.OurRole, "run", "runner", 0.75)
	u := useOf(w, "gm-1")
	if u.DataPlane != 1 || u.Backends != 0.5 || u.Attackers != 0.25 || u.Others != 0.75 || u.Rest != 0.25 || u.All != 2.75 || u.Memory != 5 || u.Seconds != 2 || !math.IsNaN(u.ControlPlane) {
		t.Errorf("%+v", u)
	}
}
