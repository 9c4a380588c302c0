package scenario

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
)

// answered is a hit with an answer of a route's generation, from a pod.
func answered(lane int, due, took time.Duration, route string, generation int64, pod string) hit {
	return hit{lane: lane, due: due, sent: due, ended: due + took, status: 200, class: load.OK,
		marker: marker.Marker{Route: route, Generation: generation, Pod: pod}}
}

// refusedWith is a hit with a status and no marker.
func refusedWith(lane int, due, took time.Duration, status int) hit {
	return hit{lane: lane, due: due, sent: due, ended: due + took, status: status, class: load.ClassOfStatus(status)}
}

func TestTell(t *testing.T) {
	old, fresh := rightAnswer{route: "r", generation: 1}, rightAnswer{route: "r", generation: 2}
	serial := func(h hit, serial string) hit { h.certificate = serial; return h }
	for name, c := range map[string]struct {
		h             hit
		kept          bool
		before, after rightAnswer
		want          shown
	}{
		"the old version":     {h: answered(0, 0, ms, "r", 1, "p"), before: old, after: fresh, want: showsOld},
		"the new version":     {h: answered(0, 0, ms, "r", 2, "p"), before: old, after: fresh, want: showsNew},
		"another version":     {h: answered(0, 0, ms, "r", 3, "p"), before: old, after: fresh, want: showsWrong},
		"another route":       {h: answered(0, 0, ms, "s", 1, "p"), before: old, after: fresh, want: showsWrong},
		"an error":            {h: refusedWith(0, 0, ms, 503), before: old, after: fresh, want: showsWrong},
		"what never changes":  {h: answered(0, 0, ms, "r", 1, "p"), before: old, after: old, want: showsEither},
		"no route any more":   {h: refusedWith(0, 0, ms, 404), before: old, after: rightAnswer{status: 404}, want: showsNew},
		"a refused reference": {h: refusedWith(0, 0, ms, 500), before: old, after: rightAnswer{status: 5}, want: showsNew},
		"a 404 is no 5xx":     {h: refusedWith(0, 0, ms, 404), before: old, after: rightAnswer{status: 5}, want: showsWrong},
		"a reset":             {h: hit{class: load.Reset}, before: old, after: fresh, want: showsWrong},
		"no port left":        {h: hit{class: load.AddressExhausted}, before: old, after: fresh, want: showsNothing},
		"never sent":          {h: hit{class: load.Unsent}, before: old, after: fresh, want: showsNothing},
		"no marker":           {h: answered(0, 0, ms, "", 0, "echo-a-b"), before: rightAnswer{unmarked: true}, after: fresh, want: showsOld},
		"the first backend":   {h: answered(0, 0, ms, "r", 1, "echo-6f-x1"), before: rightAnswer{backends: []string{"echo"}}, after: rightAnswer{backends: []string{"echo", "second"}}, want: showsEither},
		"the second backend":  {h: answered(0, 0, ms, "r", 1, "second-6f-x1"), before: rightAnswer{backends: []string{"echo"}}, after: rightAnswer{backends: []string{"echo", "second"}}, want: showsNew},
		"a pod of no backend": {h: answered(0, 0, ms, "r", 1, "echo-two-6f-x1"), before: rightAnswer{backends: []string{"echo"}}, after: rightAnswer{backends: []string{"second"}}, want: showsWrong},
		"a deleted pod":       {h: answered(0, 0, ms, "r", 1, "a"), before: rightAnswer{pods: []string{"a", "b"}}, after: rightAnswer{notPods: []string{"a"}}, want: showsOld},
		"a pod that stays":    {h: answered(0, 0, ms, "r", 1, "b"), before: rightAnswer{pods: []string{"a", "b"}}, after: rightAnswer{notPods: []string{"a"}}, want: showsEither},
		"a new pod":           {h: answered(0, 0, ms, "r", 1, "c"), before: rightAnswer{pods: []string{"a", "b"}}, after: rightAnswer{notPods: []string{"a"}}, want: showsNew},
		"a new certificate":   {h: serial(answered(0, 0, ms, "r", 1, "p"), "b2"), before: rightAnswer{certificate: "a1"}, after: rightAnswer{certificate: "b2"}, want: showsNew},
		"a foreign one":       {h: serial(answered(0, 0, ms, "r", 1, "p"), "c3"), before: rightAnswer{certificate: "a1"}, after: rightAnswer{certificate: "b2"}, want: showsWrong},
		"a kept connection":   {h: serial(answered(0, 0, ms, "r", 1, "p"), "c3"), kept: true, before: rightAnswer{certificate: "a1"}, after: rightAnswer{certificate: "b2"}, want: showsEither},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tell(&c.h, !c.kept, c.before, c.after); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// swap is a change from generation 1 to 2 for one stream, beside one that
// never changes.
func swap(t0 time.Duration) *change {
	stays := rightAnswer{route: "n", generation: 1}
	return &change{forward: true, t0: t0, before: []rightAnswer{{route: "r", generation: 1}, stays}, after: []rightAnswer{{route: "r", generation: 2}, stays}}
}

var twoLanes = []lane{{stream: 0, replica: "a"}, {stream: 0, replica: "b", fresh: true}, {stream: 1, replica: "a"}}

// every is an answer every 10 ms on a lane.
func every(lane int, from, to time.Duration, route string, generation int64) (all []hit) {
	for at := from; at < to; at += 10 * ms {
		all = append(all, answered(lane, at, ms, route, generation, "p"))
	}
	return all
}

func TestEffects(t *testing.T) {
	hits := slices.Concat(
		every(0, 900*ms, 1100*ms, "r", 1), every(0, 1100*ms, 2*time.Second, "r", 2),
		every(1, 900*ms, 1200*ms, "r", 1), every(1, 1200*ms, 1300*ms, "r", 2), every(1, 1300*ms, 1310*ms, "r", 1), every(1, 1310*ms, 2*time.Second, "r", 2),
		every(2, 900*ms, 2*time.Second, "n", 1), []hit{refusedWith(0, 1500*ms, ms, 503)},
	)
	slices.SortStableFunc(hits, func(a, b hit) int { return int(a.ended - b.ended) })
	c := swap(time.Second)
	got := effects(twoLanes, hits, c, 300*ms)
	want := []effect{
		{lane: 0, since: 90 * ms, old: 90 * ms, first: 101 * ms, good: 101 * ms, rights: 90},
		{lane: 1, since: 190 * ms, old: 300 * ms, first: 201 * ms, good: 311 * ms, rights: 69},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(effect{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := everywhere(got, func(e *effect) time.Duration { return e.good }); at != 311*ms || anywhere(got) != 101*ms {
		t.Errorf("anywhere after %s, everywhere after %s", anywhere(got), at)
	}
	if settled(got, twoLanes, c, 500*ms, 300*ms) || !settled(got, twoLanes, c, 700*ms, 300*ms) {
		t.Error("settled too soon or not at all")
	}
	if late := effects(twoLanes, hits, c, 50*ms); late[1].stale != 1 || late[0].stale != 0 {
		t.Errorf("stale answers: %+v", late)
	}
}

func TestAChangeThatIsNeverInForce(t *testing.T) {
	hits := slices.Concat(every(0, 0, 3*time.Second, "r", 1), every(1, 0, 3*time.Second, "r", 2))
	c := swap(time.Second)
	got := effects(twoLanes, hits, c, 300*ms)
	if got[0].first >= 0 || got[0].good >= 0 || got[1].good < 0 || settled(got, twoLanes, c, time.Hour, 300*ms) {
		t.Errorf("%+v", got)
	}
	if everywhere(got, func(e *effect) time.Duration { return e.good }) >= 0 {
		t.Error("in force everywhere")
	}
}

// A backend that gets all requests again: nothing but the end of the other's
// answers shows it.
func TestTheEndOfASplit(t *testing.T) {
	both := rightAnswer{route: "r", generation: 1, backends: []string{"echo", "second"}}
	one := rightAnswer{route: "r", generation: 1, backends: []string{"echo"}}
	lanes := []lane{{replica: "a"}}
	c := &change{t0: time.Second, before: []rightAnswer{both}, after: []rightAnswer{one}}
	var hits []hit
	for at := 900 * ms; at < 2*time.Second; at += 10 * ms {
		pod := "echo-6f-1"
		if at < 1200*ms && at/(10*ms)%2 == 0 {
			pod = "second-6f-1"
		}
		hits = append(hits, answered(0, at, ms, "r", 1, pod))
	}
	got := effects(lanes, hits, c, 300*ms)
	if got[0].good != 191*ms || got[0].first != got[0].good {
		t.Errorf("back: %+v", got)
	}
	if settled(got[:1], lanes, c, 300*ms, 100*ms) != (got[0].rights >= settledBlind) {
		t.Errorf("settled with %d answers", got[0].rights)
	}
	forth := &change{t0: time.Second, before: []rightAnswer{one}, after: []rightAnswer{both}}
	for i := range hits {
		if hits[i].ended >= 1400*ms && i%2 == 0 {
			hits[i].marker.Pod = "second-6f-1"
		} else {
			hits[i].marker.Pod = "echo-6f-1"
		}
	}
	if got := effects(lanes, hits, forth, 300*ms); got[0].first < 400*ms || got[0].good != got[0].first {
		t.Errorf("forth: %+v", got)
	}
}

func TestLanesThatSayNothing(t *testing.T) {
	lanes := slices.Clone(twoLanes)
	lanes[0].gone = true
	if got := effects(lanes, every(1, time.Second, 2*time.Second, "r", 2), swap(time.Second), ms); len(got) != 1 || got[0].lane != 1 {
		t.Errorf("%+v", got)
	}
	certificates := &change{before: []rightAnswer{{certificate: "a"}}, after: []rightAnswer{{certificate: "b"}}}
	if certificates.visible(lane{}) || !certificates.visible(lane{fresh: true}) {
		t.Error("a kept connection shows no certificate but its own")
	}
}
