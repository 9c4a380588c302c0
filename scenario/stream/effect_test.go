package stream_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario/scenariotest"
	"github.com/gatemark/gatemark/scenario/stream"
)

const ms = time.Millisecond

func TestTell(t *testing.T) {
	old, fresh := stream.Answer{Route: "r", Generation: 1}, stream.Answer{Route: "r", Generation: 2}
	serial := func(h stream.Hit, serial string) stream.Hit { h.Certificate = serial; return h }
	for name, c := range map[string]struct {
		h             stream.Hit
		kept          bool
		before, after stream.Answer
		want          stream.Shown
	}{
		"the old version":     {h: scenariotest.Answered(0, 0, ms, "r", 1, "p"), before: old, after: fresh, want: stream.ShowsOld},
		"the new version":     {h: scenariotest.Answered(0, 0, ms, "r", 2, "p"), before: old, after: fresh, want: stream.ShowsNew},
		"another version":     {h: scenariotest.Answered(0, 0, ms, "r", 3, "p"), before: old, after: fresh, want: stream.ShowsWrong},
		"another route":       {h: scenariotest.Answered(0, 0, ms, "s", 1, "p"), before: old, after: fresh, want: stream.ShowsWrong},
		"an error":            {h: scenariotest.Refused(0, 0, ms, 503), before: old, after: fresh, want: stream.ShowsWrong},
		"what never changes":  {h: scenariotest.Answered(0, 0, ms, "r", 1, "p"), before: old, after: old, want: stream.ShowsEither},
		"no route any more":   {h: scenariotest.Refused(0, 0, ms, 404), before: old, after: stream.Answer{Status: 404}, want: stream.ShowsNew},
		"a refused reference": {h: scenariotest.Refused(0, 0, ms, 500), before: old, after: stream.Answer{Status: 5}, want: stream.ShowsNew},
		"a 404 is no 5xx":     {h: scenariotest.Refused(0, 0, ms, 404), before: old, after: stream.Answer{Status: 5}, want: stream.ShowsWrong},
		"a reset":             {h: stream.Hit{Class: load.Reset}, before: old, after: fresh, want: stream.ShowsWrong},
		"no port left":        {h: stream.Hit{Class: load.AddressExhausted}, before: old, after: fresh, want: stream.ShowsNothing},
		"never sent":          {h: stream.Hit{Class: load.Unsent}, before: old, after: fresh, want: stream.ShowsNothing},
		"no marker":           {h: scenariotest.Answered(0, 0, ms, "", 0, "echo-a-b"), before: stream.Answer{Unmarked: true}, after: fresh, want: stream.ShowsOld},
		"the first backend":   {h: scenariotest.Answered(0, 0, ms, "r", 1, "echo-6f-x1"), before: stream.Answer{Backends: []string{"echo"}}, after: stream.Answer{Backends: []string{"echo", "second"}}, want: stream.ShowsEither},
		"the second backend":  {h: scenariotest.Answered(0, 0, ms, "r", 1, "second-6f-x1"), before: stream.Answer{Backends: []string{"echo"}}, after: stream.Answer{Backends: []string{"echo", "second"}}, want: stream.ShowsNew},
		"a pod of no backend": {h: scenariotest.Answered(0, 0, ms, "r", 1, "echo-two-6f-x1"), before: stream.Answer{Backends: []string{"echo"}}, after: stream.Answer{Backends: []string{"second"}}, want: stream.ShowsWrong},
		"a deleted pod":       {h: scenariotest.Answered(0, 0, ms, "r", 1, "a"), before: stream.Answer{Pods: []string{"a", "b"}}, after: stream.Answer{NotPods: []string{"a"}}, want: stream.ShowsOld},
		"a pod that stays":    {h: scenariotest.Answered(0, 0, ms, "r", 1, "b"), before: stream.Answer{Pods: []string{"a", "b"}}, after: stream.Answer{NotPods: []string{"a"}}, want: stream.ShowsEither},
		"a new pod":           {h: scenariotest.Answered(0, 0, ms, "r", 1, "c"), before: stream.Answer{Pods: []string{"a", "b"}}, after: stream.Answer{NotPods: []string{"a"}}, want: stream.ShowsNew},
		"a new certificate":   {h: serial(scenariotest.Answered(0, 0, ms, "r", 1, "p"), "b2"), before: stream.Answer{Certificate: "a1"}, after: stream.Answer{Certificate: "b2"}, want: stream.ShowsNew},
		"a foreign one":       {h: serial(scenariotest.Answered(0, 0, ms, "r", 1, "p"), "c3"), before: stream.Answer{Certificate: "a1"}, after: stream.Answer{Certificate: "b2"}, want: stream.ShowsWrong},
		"a kept connection":   {h: serial(scenariotest.Answered(0, 0, ms, "r", 1, "p"), "c3"), kept: true, before: stream.Answer{Certificate: "a1"}, after: stream.Answer{Certificate: "b2"}, want: stream.ShowsEither},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stream.Tell(&c.h, !c.kept, c.before, c.after); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// swap is a change from generation 1 to 2 for one stream, beside one that
// never changes.
func swap(t0 time.Duration) *stream.Change {
	stays := stream.Answer{Route: "n", Generation: 1}
	return &stream.Change{Forward: true, T0: t0, Before: []stream.Answer{{Route: "r", Generation: 1}, stays}, After: []stream.Answer{{Route: "r", Generation: 2}, stays}}
}

var twoLanes = []stream.Lane{{Stream: 0, Replica: "a"}, {Stream: 0, Replica: "b", Fresh: true}, {Stream: 1, Replica: "a"}}

// every is an answer every 10 ms on a lane.
func every(lane int, from, to time.Duration, route string, generation int64) (all []stream.Hit) {
	for at := from; at < to; at += 10 * ms {
		all = append(all, scenariotest.Answered(lane, at, ms, route, generation, "p"))
	}
	return all
}

func TestEffects(t *testing.T) {
	hits := slices.Concat(
		every(0, 900*ms, 1100*ms, "r", 1), every(0, 1100*ms, 2*time.Second, "r", 2),
		every(1, 900*ms, 1200*ms, "r", 1), every(1, 1200*ms, 1300*ms, "r", 2), every(1, 1300*ms, 1310*ms, "r", 1), every(1, 1310*ms, 2*time.Second, "r", 2),
		every(2, 900*ms, 2*time.Second, "n", 1), []stream.Hit{scenariotest.Refused(0, 1500*ms, ms, 503)},
	)
	slices.SortStableFunc(hits, func(a, b stream.Hit) int { return int(a.Ended - b.Ended) })
	c := swap(time.Second)
	got := stream.Effects(twoLanes, hits, c, 300*ms)
	want := []stream.Effect{
		{Lane: 0, Since: 90 * ms, Old: 90 * ms, First: 101 * ms, Good: 101 * ms, Rights: 90},
		{Lane: 1, Since: 190 * ms, Old: 300 * ms, First: 201 * ms, Good: 311 * ms, Rights: 69},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(stream.Effect{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := stream.Everywhere(got, func(e *stream.Effect) time.Duration { return e.Good }); at != 311*ms || stream.Anywhere(got) != 101*ms {
		t.Errorf("anywhere after %s, everywhere after %s", stream.Anywhere(got), at)
	}
	if stream.Settled(got, twoLanes, c, 500*ms, 300*ms) || !stream.Settled(got, twoLanes, c, 700*ms, 300*ms) {
		t.Error("settled too soon or not at all")
	}
	if late := stream.Effects(twoLanes, hits, c, 50*ms); late[1].Stale != 1 || late[0].Stale != 0 {
		t.Errorf("stale answers: %+v", late)
	}
}

func TestAChangeThatIsNeverInForce(t *testing.T) {
	hits := slices.Concat(every(0, 0, 3*time.Second, "r", 1), every(1, 0, 3*time.Second, "r", 2))
	c := swap(time.Second)
	got := stream.Effects(twoLanes, hits, c, 300*ms)
	if got[0].First >= 0 || got[0].Good >= 0 || got[1].Good < 0 || stream.Settled(got, twoLanes, c, time.Hour, 300*ms) {
		t.Errorf("%+v", got)
	}
	if stream.Everywhere(got, func(e *stream.Effect) time.Duration { return e.Good }) >= 0 {
		t.Error("in force everywhere")
	}
}

// A backend that gets all requests again: nothing but the end of the other's
// answers shows it.
func TestTheEndOfASplit(t *testing.T) {
	both := stream.Answer{Route: "r", Generation: 1, Backends: []string{"echo", "second"}}
	one := stream.Answer{Route: "r", Generation: 1, Backends: []string{"echo"}}
	lanes := []stream.Lane{{Replica: "a"}}
	c := &stream.Change{T0: time.Second, Before: []stream.Answer{both}, After: []stream.Answer{one}}
	var hits []stream.Hit
	for at := 900 * ms; at < 2*time.Second; at += 10 * ms {
		pod := "echo-6f-1"
		if at < 1200*ms && at/(10*ms)%2 == 0 {
			pod = "second-6f-1"
		}
		hits = append(hits, scenariotest.Answered(0, at, ms, "r", 1, pod))
	}
	got := stream.Effects(lanes, hits, c, 300*ms)
	if got[0].Good != 191*ms || got[0].First != got[0].Good {
		t.Errorf("back: %+v", got)
	}
	if stream.Settled(got[:1], lanes, c, 300*ms, 100*ms) != (got[0].Rights >= stream.SettledBlind) {
		t.Errorf("settled with %d answers", got[0].Rights)
	}
	forth := &stream.Change{T0: time.Second, Before: []stream.Answer{one}, After: []stream.Answer{both}}
	for i := range hits {
		if hits[i].Ended >= 1400*ms && i%2 == 0 {
			hits[i].Marker.Pod = "second-6f-1"
		} else {
			hits[i].Marker.Pod = "echo-6f-1"
		}
	}
	if got := stream.Effects(lanes, hits, forth, 300*ms); got[0].First < 400*ms || got[0].Good != got[0].First {
		t.Errorf("forth: %+v", got)
	}
}

func TestLanesThatSayNothing(t *testing.T) {
	lanes := slices.Clone(twoLanes)
	lanes[0].Gone = true
	if got := stream.Effects(lanes, every(1, time.Second, 2*time.Second, "r", 2), swap(time.Second), ms); len(got) != 1 || got[0].Lane != 1 {
		t.Errorf("%+v", got)
	}
	certificates := &stream.Change{Before: []stream.Answer{{Certificate: "a"}}, After: []stream.Answer{{Certificate: "b"}}}
	if certificates.Visible(stream.Lane{}) || !certificates.Visible(stream.Lane{Fresh: true}) {
		t.Error("a kept connection shows no certificate but its own")
	}
}
