package probe

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/load"
)

const ms = time.Millisecond

// at makes a sample that was due, begun and sent at one instant, in
// milliseconds, and answered at another.
func at(sent, received int, v Verdict, class load.Class, status int) Sample {
	s := time.Duration(sent) * ms
	return Sample{Due: s, Began: s, Sent: s, Received: time.Duration(received) * ms, Verdict: v, Class: class, Status: uint16(status)}
}

func old(sent, received int) Sample     { return at(sent, received, Old, load.OK, 404) }
func right(sent, received int) Sample   { return at(sent, received, Right, load.OK, 200) }
func failing(sent, received int) Sample { return at(sent, received, Wrong, load.Status5xx, 503) }
func silent(sent, received int) Sample  { return at(sent, received, Wrong, load.Timeout, 0) }

func TestJudge(t *testing.T) {
	type want struct {
		first, stable [2]int // milliseconds; zero for not seen
		flaps         int
		transition    int // answers in it
	}
	cases := []struct {
		name    string
		samples []Sample
		end     int
		want    want
	}{
		{"a clean switch", []Sample{old(-1, 0), old(5, 6), right(10, 11), right(15, 16), right(20, 21)}, 30,
			want{first: [2]int{5, 11}, stable: [2]int{5, 11}, transition: 2}},
		{"at once", []Sample{old(-2, -1), right(1, 2), right(3, 4), right(5, 6)}, 30,
			want{first: [2]int{0, 2}, stable: [2]int{0, 2}}},
		{"never", []Sample{old(-2, -1), old(1, 2), old(3, 4)}, 30, want{transition: 2}},
		{"no answer at all", nil, 30, want{}},
		{"an old answer after the new one", []Sample{old(1, 2), right(3, 4), old(5, 6), right(7, 8), right(9, 10)}, 30,
			want{first: [2]int{1, 4}, stable: [2]int{5, 8}, flaps: 1, transition: 3}},
		{"an old answer that was under way is no flap", []Sample{old(1, 2), right(3, 5), old(4, 6), right(7, 8), right(9, 10)}, 30,
			want{first: [2]int{1, 5}, stable: [2]int{4, 8}, transition: 3}},
		{"an error after the new one", []Sample{old(1, 2), right(3, 4), failing(5, 6), right(7, 8), right(9, 10)}, 30,
			want{first: [2]int{1, 4}, stable: [2]int{5, 8}, transition: 3}},
		{"a timeout speaks for its sending, not for our giving up",
			[]Sample{old(1, 2), right(4, 5), right(6, 7), silent(3, 8), right(9, 10)}, 30,
			want{first: [2]int{1, 5}, stable: [2]int{3, 5}, transition: 2}},
		{"a timeout within the right ones", []Sample{old(1, 2), right(4, 5), right(7, 8), right(9, 10), silent(6, 26)}, 30,
			want{first: [2]int{1, 5}, stable: [2]int{6, 8}, transition: 3}},
		{"a timeout is no proof of the old state", []Sample{old(1, 2), silent(3, 6), right(7, 8), right(9, 10)}, 30,
			want{first: [2]int{1, 8}, stable: [2]int{3, 8}, transition: 2}},
		{"what is our own fault shows nothing", []Sample{old(1, 2), right(3, 4), at(5, 6, Ours, load.AddressExhausted, 0), right(7, 8)}, 30,
			want{first: [2]int{1, 4}, stable: [2]int{1, 4}, transition: 1}},
		{"not long enough", []Sample{old(1, 2), right(3, 24), right(25, 26)}, 30,
			want{first: [2]int{1, 24}, transition: 3}},
		{"not often enough", []Sample{old(1, 2), right(3, 4)}, 30, want{first: [2]int{1, 4}, transition: 2}},
		{"the last answer is not right", []Sample{old(1, 2), right(3, 4), right(5, 6), failing(7, 8)}, 30,
			want{first: [2]int{1, 4}, transition: 4}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := Judge(c.samples, time.Duration(c.end)*ms, 10*ms, 2)
			got := want{
				first:  [2]int{int(j.FirstAfter / ms), int(j.FirstBy / ms)},
				stable: [2]int{int(j.StableAfter / ms), int(j.StableBy / ms)},
				flaps:  j.Flaps, transition: j.Transition.Sent,
			}
			if !j.Served {
				got.first = [2]int{}
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever happens, nothing is lost, and what is called stable is.
func TestJudgeProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var samples []Sample
		received := -50
		for range random.IntN(60) {
			received += random.IntN(4)
			make := []func(int, int) Sample{old, right, right, right, failing, silent}[random.IntN(6)]
			samples = append(samples, make(received-random.IntN(20), received))
		}
		j := Judge(samples, time.Duration(received+random.IntN(30))*ms, 10*ms, 2)
		if n := j.Before.Sent + j.Transition.Sent + j.After.Sent; n != len(samples) {
			t.Fatalf("%d samples counted, %d given", n, len(samples))
		}
		for _, c := range []Counts{j.Before, j.Transition, j.After} {
			if c.Right+c.Old+c.ErrorCount() != c.Sent {
				t.Fatalf("%+v does not add up", c)
			}
		}
		if j.After.Old+j.After.ErrorCount() > 0 {
			t.Fatalf("not stable: %+v", j.After)
		}
		if j.Settled && (!j.Served || j.StableBy < j.FirstBy || j.StableAfter > j.StableBy) {
			t.Fatalf("stable from %v to %v, but served first at %v", j.StableAfter, j.StableBy, j.FirstBy)
		}
		if j.Served && j.FirstAfter > j.FirstBy {
			t.Fatalf("first served between %v and %v", j.FirstAfter, j.FirstBy)
		}
	}
}

func TestCounts(t *testing.T) {
	late := right(5, 7)
	late.Due, late.Busy, late.Missed = 3*ms, 4, 5
	j := Judge([]Sample{old(1, 2), failing(2, 3), failing(3, 4), late, right(8, 9)}, 40*ms, 10*ms, 2)
	want := Counts{
		Sent: 3, Old: 1, Errors: map[load.Class]int{load.Status5xx: 2}, Status: map[int]int{404: 1, 503: 2},
	}
	if diff := cmp.Diff(want, j.Transition); diff != "" {
		t.Errorf("transition (-want +got):\n%s", diff)
	}
	want = Counts{Sent: 2, Right: 2, Status: map[int]int{200: 2}, Busy: 4, Missed: 5, Late: 1, MaxDelay: 2 * ms}
	if diff := cmp.Diff(want, j.After); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
}
