package load

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWindows(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, ok)
		a, err := Prepare(t.Context(), Options{
			Targets: []Target{{URL: s.url(), Expect: Expect{Body: -1}}}, Engine: engine, Connections: 4, Threads: 2,
			Rate: Steady(1000, 600*time.Millisecond), Warmup: 100 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		a.Start(begin)
		if err := a.Mark("change", begin.Add(400*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if err := a.Mark("too early", begin.Add(300*time.Millisecond)); err == nil {
			t.Error("a mark before the last one was taken")
		}
		r, err := a.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, w := range r.Windows {
			got[w.Name] = w.Requests
		}
		if diff := cmp.Diff(map[string]int64{WarmUp: 100, "change": 200}, got); diff != "" || r.Requests != 500 {
			t.Errorf("%d requests, windows (-want +got)\n%s", r.Requests, diff)
		}
	})
}

// TestSlicesAreTheWhole: what is in the slices is what is in the totals, and no
// two overlap.
func TestSlicesAreTheWhole(t *testing.T) {
	s := serve(t, nil, ok)
	r := attackOn(t, Auto, s.url(), func(o *Options) { o.Rate = Steady(500, 2200*time.Millisecond) })
	var n []int64
	for i, slice := range r.Slices {
		n = append(n, slice.Counts.Requests())
		if i > 0 && slice.Start < r.Slices[i-1].End {
			t.Errorf("slice %d begins at %v, the one before ends at %v", i, slice.Start, r.Slices[i-1].End)
		}
	}
	if diff := cmp.Diff([]int64{500, 500, 100}, n); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestWhole: one slice for each window, windows of one name apart, with
// everything in them that seconds would hold.
func TestWhole(t *testing.T) {
	s := serve(t, nil, ok)
	a, err := Prepare(t.Context(), Options{
		Targets: []Target{{URL: s.url(), Expect: Expect{Body: -1}}}, Connections: 4, Whole: true,
		Rate: Steady(500, 3200*time.Millisecond), Warmup: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	a.Start(begin)
	for _, at := range []time.Duration{1700 * time.Millisecond, 2700 * time.Millisecond} {
		if err := a.Mark("change", begin.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := a.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Window     string
		Start, End time.Duration
		Requests   int64
	}
	var got []part
	for _, slice := range r.Slices {
		got = append(got, part{slice.Window, slice.Start, slice.End.Round(time.Second / 10), slice.Requests()})
	}
	want := []part{
		{WarmUp, 0, 200 * time.Millisecond, 100}, {"", 200 * time.Millisecond, 1700 * time.Millisecond, 750},
		{"change", 1700 * time.Millisecond, 2700 * time.Millisecond, 500}, {"change", 2700 * time.Millisecond, 4 * time.Second, 250},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slices (-want +got)\n%s", diff)
	}
	if len(r.Windows) != 3 || r.Windows[2].Requests != 250 || r.Latency.Count != 1500 {
		t.Errorf("windows %+v, %d latencies", r.Windows, r.Latency.Count)
	}
}
