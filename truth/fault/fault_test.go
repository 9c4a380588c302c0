package fault

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCleanByDefault(t *testing.T) {
	for _, s := range []*Switch{nil, new(Switch)} {
		if f := s.Now(); !reflect.ValueOf(f).IsZero() {
			t.Errorf("faults without any set: %+v", f)
		}
	}
	var f Faults
	if f.BeforeApply(Arrival{Routes: 9, First: true}) != 0 || f.BeforeRouteStatus() != 0 || f.BeforeGatewayStatus() != 0 ||
		f.Refuses(1) || f.Drops(1) || f.Hangs(1) != 0 || f.Misroutes(1) || f.Warms(0) || f.Relapses(0) ||
		f.Ignores(1) || f.Frozen(1<<20) || f.Stale(1) || f.Count(1, 5, 9) != 5 {
		t.Error("the zero value has faults")
	}
}

func TestASwitchIsSetAndTakenBack(t *testing.T) {
	s := new(Switch)
	s.Set(Faults{ErrorEvery: 3})
	if !s.Now().Refuses(3) {
		t.Error("a fault that was set is not in force")
	}
	s.Set(Faults{})
	if s.Now().Refuses(3) {
		t.Error("a fault stays after it was taken back")
	}
}

func TestParse(t *testing.T) {
	got, err := Parse(`{"propagation": "1.5s", "late": {"2": "5ms"}, "status": 7, "errorEvery": 3, "countsFirstListener": true}`)
	want := Faults{Propagation: 1500 * time.Millisecond, Late: map[int]time.Duration{2: 5 * time.Millisecond}, Status: 7, ErrorEvery: 3, CountsFirstListener: true}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	if got, err := Parse(""); err != nil || !reflect.ValueOf(got).IsZero() {
		t.Errorf("nothing is %+v, %v", got, err)
	}
	for _, text := range []string{"{", `{"propagations": 1}`, `{"propagation": "soon"}`, `{"errorEvery": "5ms "}`, `{"ignoresUpdate": "all"}`} {
		if f, err := Parse(text); err == nil || !strings.Contains(err.Error(), "faults") {
			t.Errorf("%s is %+v, %v", text, f, err)
		}
	}
}

// TestTravels: what one process sends another reads.
func TestTravels(t *testing.T) {
	want := Faults{Propagation: 90 * time.Minute, Late: map[int]time.Duration{1: time.Hour}, Ceiling: 3, Flaps: time.Second}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(string(text))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}

func TestTally(t *testing.T) {
	var tally Tally
	if len(tally.All()) != 0 {
		t.Errorf("before anything: %v", tally.All())
	}
	tally.Add("a")
	tally.Add("b")
	tally.Add("a")
	if diff := cmp.Diff(map[string]int64{"a": 2, "b": 1}, tally.All()); diff != "" {
		t.Error(diff)
	}
}
