package fault

import (
	"testing"
	"time"
)

func TestCycle(t *testing.T) {
	since := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	second := func(s float64) time.Time { return since.Add(time.Duration(s * float64(time.Second))) }
	type instant struct {
		at   float64
		on   bool
		next float64 // 0 for never
	}
	for _, c := range []struct {
		name     string
		cycle    *Cycle
		instants []instant
	}{
		{"none", nil, []instant{{0, true, 0}, {1e6, true, 0}}},
		{"22 s on, 22 s off, twice, after 3", &Cycle{After: "3s", On: "22s", Off: "22s", Count: 2}, []instant{
			{0, false, 3}, {3, true, 25}, {24.9, true, 25}, {25, false, 47}, {47, true, 69}, {69, false, 0}, {100, false, 0},
		}},
		{"once", &Cycle{On: "1.4s"}, []instant{{0, true, 1.4}, {1.4, false, 0}, {9, false, 0}}},
		{"without end", &Cycle{On: "1s", Off: "2s"}, []instant{{0, true, 1}, {3001.5, false, 3003}}},
		{"at a time", &Cycle{Start: "2026-01-31T12:00:05Z", On: "1s"}, []instant{{0, false, 5}, {5.5, true, 6}, {7, false, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p problems
			phases := c.cycle.phases("cycle", since, &p)
			if err := p.join(); err != nil {
				t.Fatal(err)
			}
			for _, i := range c.instants {
				on, next := phases.active(second(i.at))
				want := time.Time{}
				if i.next != 0 {
					want = second(i.next)
				}
				if on != i.on || !next.Equal(want) {
					t.Errorf("after %v s: %v until %v, want %v until %v", i.at, on, next, i.on, want)
				}
			}
		})
	}
}

func TestStalledAndRefused(t *testing.T) {
	s := compile(t, `{"rules":[{"stall":{},"match":{"path":"/a"}},{"stall":{},"cycle":{"on":"1h"}},{"refuse":{},"cycle":{"after":"1h","on":"2h"}}]}`)
	if s.Quiet() {
		t.Error("a set that stalls is quiet")
	}
	if until := s.Stalled(s.since); !until.Equal(s.since.Add(time.Hour)) {
		t.Errorf("stalled until %v", until)
	}
	if v := s.Decide(query("/a", "", ""), s.since); !v.Stall.Equal(Forever) {
		t.Errorf("a stall without end: %+v", v)
	}
	if refused, _, next := s.Refused(s.since); refused || !next.Equal(s.since.Add(time.Hour)) {
		t.Errorf("refused %v until %v", refused, next)
	}
	if refused, reset, next := s.Refused(s.since.Add(2 * time.Hour)); !refused || reset || !next.Equal(s.since.Add(3*time.Hour)) {
		t.Errorf("refused %v, reset %v, until %v", refused, reset, next)
	}
	if !compile(t, `{"rules":[{"refuse":{}}]}`).Quiet() {
		t.Error("a rule that refuses concerns no request")
	}
}
