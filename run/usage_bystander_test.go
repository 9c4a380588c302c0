package run

import (
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/measure/usage"
)

// TestBystandersThatAreBusy: only where they have no part, and from what a user
// would mind on.
func TestBystandersThatAreBusy(t *testing.T) {
	for name, x := range map[string]struct {
		isolation    string
		control, own float64
		want         string
	}{
		"busy":                     {coresident, 9, 30, "two/variant, which had no part in it, used 10.0 CPU-seconds within 100 s (10 % of one CPU) while only one was given something to do, which itself used 30.0"},
		"at rest":                  {coresident, 3.9, 3, ""},
		"far below what was used":  {coresident, 9, 101, ""},
		"it has a part in it":      {joined, 9, 30, ""},
		"parked, and not readable": {parked, 9, 30, ""},
	} {
		c := use(t)
		c.trial.Isolation = x.isolation
		c.trial.Result.Scenario = "s"
		from := time.Now()
		w := &usage.Window{From: from, To: from.Add(100 * time.Second), Uses: map[string]usage.Use{
			controlPlane: {CPU: x.own}, "other-two-variant-control-plane": {CPU: x.control}, "other-two-variant-data-plane": {CPU: 1},
		}}
		c.findBystanders(w)
		found := c.trial.Result.Findings
		if len(found) != 0 != (x.want != "") {
			t.Errorf("%s: found %+v", name, found)
			continue
		}
		if x.want != "" && (found[0].ID != "s/bystander-cpu" || found[0].Text != x.want || !strings.Contains(found[0].Evidence[0].Text, "control plane 9.00, data plane 1.00")) {
			t.Errorf("%s: found %+v", name, found[0])
		}
	}
}

// TestUseForEachChange: divided by their number, and drawn over it.
func TestUseForEachChange(t *testing.T) {
	c := use(t)
	begun := time.Now()
	c.trial.Begun = func(at time.Time) { begun = at }
	c.trial.Begin()
	for _, after := range []time.Duration{500 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second, 4 * time.Second} {
		c.trial.Changed(begun.Add(after))
	}
	c.reportUse(window())
	if m := c.trial.Result.Metrics["cpu-per-change-control-plane"]; m.Value == nil || *m.Value != 0.5 || m.Unit != "s" || m.Better != "lower" {
		t.Errorf("CPU for each change: %+v", m)
	}
	if _, there := c.trial.Result.Metrics["cpu-per-change-data-plane"]; there {
		t.Error("of a plane that nobody saw")
	}
	changes, ok := c.trial.Result.Series[0].Column("changes")
	if !ok || len(changes.Values) != 3 || changes.Values[0] != 0 || changes.Values[1] != 2 || changes.Values[2] != 3 {
		t.Errorf("changes made by 0, 1 and 3 s: %v", changes.Values)
	}
	var names []string
	for _, f := range c.trial.Result.Figures {
		names = append(names, f.Name)
		if planes := strings.HasSuffix(f.Name, "-changes"); planes != (len(f.Lines) == 1) {
			t.Errorf("figure %s has %d lines", f.Name, len(f.Lines))
		}
		for _, line := range f.Lines {
			if want := map[bool]string{true: "changes", false: "at"}[strings.HasSuffix(f.Name, "-changes")]; line.X != want {
				t.Errorf("figure %s is drawn over %s, want %s", f.Name, line.X, want)
			}
		}
	}
	if got := strings.Join(names, " "); got != "usage-cpu-changes usage-memory-changes usage-cpu usage-memory" {
		t.Errorf("figures %s", got)
	}
	if err := writable(c.trial.Result, nil); err != nil {
		t.Error(err)
	}
}
