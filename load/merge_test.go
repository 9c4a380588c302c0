package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An ended request, as a test makes it up.
type ended struct {
	due              time.Duration
	class            Class
	status           int
	latency, service int64
	late, queued     bool
	inTime           bool
}

const madeUp = 5 * time.Second // is how long made-up attacks last

func makeUp(random *rand.Rand) ended {
	e := ended{
		due: time.Duration(random.Int64N(int64(madeUp))), latency: 1 + random.Int64N(1<<random.IntN(40)),
		late: random.IntN(50) == 0, queued: random.IntN(20) == 0, inTime: random.IntN(10) > 0,
	}
	e.service = 1 + random.Int64N(e.latency)
	switch random.IntN(8) {
	case 0:
		e.class, e.status = Status5xx, 503
	case 1:
		e.class = Unsent
	case 2:
		e.class = Timeout
	default:
		e.class, e.status = OK, 200
	}
	return e
}

// resultOf counts made-up requests as an attack with a warm-up and a mark would.
func resultOf(all []ended, part, parts int) *Result {
	marks := []Mark{{WarmUp, 0}, {"", time.Second}, {"storm", 2500 * time.Millisecond}}
	a := &attack{options: Options{Rate: Steady(1, madeUp), Warmup: time.Second}}
	a.marks.Store(&marks)
	a.collector = newCollector(a)
	go a.collector.run()
	l := &loop{attack: a, marks: &marks}
	a.loops = []*loop{l}
	slices.SortFunc(all, func(a, b ended) int { return int(a.due - b.due) })
	for _, e := range all {
		t := l.tallyOf(int64(e.due))
		if e.class == Unsent {
			t.counts[Unsent]++
		} else {
			t.record(e.class, e.latency, e.service)
		}
		if e.status > 0 {
			t.statuses[e.status]++
		}
		for _, c := range []struct {
			is bool
			to *int64
		}{{e.late, &t.late}, {e.queued, &t.queued}, {e.inTime, &t.inTime}} {
			if c.is {
				*c.to++
			}
		}
	}
	l.handIn(never)
	a.collector.close()
	l.ended = int64(madeUp)
	r := &Result{URL: "http://a/", Protocol: HTTP1, Engine: Epoll, ReceiveTime: KernelTime, OpenLoop: true, Threads: 1, Part: part, Parts: parts, Slices: a.collector.slices, Verdict: Valid}
	total := r.count()
	r.Windows = a.windows(r.Slices)
	a.rates(r, total)
	connect := NewHistogram()
	for _, e := range all {
		connect.Record(e.service)
	}
	r.setSetup(connect, NewHistogram())
	return r
}

// TestMergePartitions: however requests are dealt out, the sum of the parts is
// what one attacker would have found, histogram by histogram.
func TestMergePartitions(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 1))
		n := 1 + random.IntN(6)
		all := make([]ended, 200+random.IntN(1800))
		dealt := make([][]ended, n)
		for i := range all {
			all[i] = makeUp(random)
			to := random.IntN(n)
			dealt[to] = append(dealt[to], all[i])
		}
		whole := resultOf(all, 0, 1)
		var parts []Attacker
		for _, i := range random.Perm(n) {
			parts = append(parts, Attacker{Name: fmt.Sprint("attacker-", i), Result: throughJSON(t, resultOf(dealt[i], i, n))})
		}
		before := asJSON(t, parts)
		merged, err := Merge(parts)
		if err != nil {
			t.Fatal(err)
		}
		whole.Threads = n
		if diff := cmp.Diff(asJSON(t, whole), asJSON(t, merged.Result)); diff != "" {
			t.Fatalf("seed %d: the whole and the sum of %d parts differ (-whole +sum):\n%s", seed, n, diff)
		}
		if diff := cmp.Diff(before, asJSON(t, merged.Attackers)); diff != "" {
			t.Errorf("seed %d: merging changed its parts:\n%s", seed, diff)
		}
	}
}

func throughJSON(t *testing.T, r *Result) *Result {
	t.Helper()
	var out Result
	if err := json.Unmarshal([]byte(asJSON(t, r)), &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMergeForgetsNoField: whatever number is added to Result or Self must come
// out of a merge.
func TestMergeForgetsNoField(t *testing.T) {
	full := resultOf([]ended{
		{due: 2 * time.Second, status: 200, latency: 1, service: 1, late: true, queued: true, inTime: true},
		{due: 3 * time.Second, class: Unsent},
		{due: 4 * time.Second, class: Timeout, latency: 3, service: 3},
	}, 0, 1)
	handshake := NewHistogram()
	handshake.Record(7)
	full.setSetup(full.ConnectTimes, handshake)
	full.Reasons = []string{"slow"}
	full.Started = time.Now()
	fill(reflect.ValueOf(full).Elem())
	fill(reflect.ValueOf(&full.Self).Elem())
	merged, err := Merge([]Attacker{{Name: "a", Result: full}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []reflect.Value{reflect.ValueOf(merged.Result).Elem(), reflect.ValueOf(merged.Result.Self)} {
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Part" {
				t.Errorf("%s.%s is lost", v.Type().Name(), name)
			}
		}
	}
}

// fill sets every number that is 0.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case v.Type().Field(i).Name == "Part" || !f.IsZero():
		case f.CanInt():
			f.SetInt(1)
		case f.CanFloat():
			f.SetFloat(1)
		}
	}
}

func TestMergeTakesTheWorstVerdict(t *testing.T) {
	parts := func(verdicts ...Verdict) (all []Attacker) {
		for i, v := range verdicts {
			r := resultOf([]ended{{status: 200}}, i, len(verdicts))
			r.Verdict, r.Engine, r.CPUSeconds = v, Epoll, 2
			r.Self = Self{BusiestLoop: float64(i), PeakRSS: int64(i), LoopCPU: 1}
			if v != Valid {
				r.Reasons = []string{"was " + string(v)}
			}
			all = append(all, Attacker{Name: fmt.Sprint("attacker-", i), Node: "n", Result: r})
		}
		return all
	}
	all := parts(Valid, AttackerLimited, BackendLimited, Valid)
	all[3].Result.Engine = IOUring
	merged, err := Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	r := merged.Result
	if want := []string{"attacker-1: was attacker-limited", "attacker-2: was backend-limited"}; r.Verdict != AttackerLimited || !slices.Equal(r.Reasons, want) {
		t.Errorf("verdict %s, reasons %q", r.Verdict, r.Reasons)
	}
	if r.Engine != Mixed || r.CPUSeconds != 8 || r.Threads != 4 {
		t.Errorf("engine %s, %v CPU-seconds, %d threads", r.Engine, r.CPUSeconds, r.Threads)
	}
	if want := (Self{BusiestLoop: 3, PeakRSS: 3, LoopCPU: 4}); r.Self != want {
		t.Errorf("self %+v, want %+v", r.Self, want)
	}
	if merged, err = Merge(parts(Valid, BackendLimited)); err != nil || merged.Result.Verdict != BackendLimited {
		t.Errorf("verdict %s, %v", merged.Result.Verdict, err)
	}
}

func TestMergeRefusesWhatIsNotTheWhole(t *testing.T) {
	for _, c := range []struct {
		spoil func(all []Attacker) []Attacker
		want  string
	}{
		{func([]Attacker) []Attacker { return nil }, "there are none"},
		{func(all []Attacker) []Attacker { return all[:2] }, "part 1 of 3, among 2 results"},
		{func(all []Attacker) []Attacker { all[1].Result.Part = 0; return all }, "a and b both have part 1"},
		{func(all []Attacker) []Attacker { all[1].Result = nil; return all }, "b has none"},
		{func(all []Attacker) []Attacker { all[1].Name = "a"; return all }, `the name "a"`},
		{func(all []Attacker) []Attacker { all[2].Result.Threads = 2; return all }, "a has threads 1, c 2"},
		{func(all []Attacker) []Attacker { all[2].Result.URL = "http://b/"; return all }, "a has URL http://a/, c http://b/"},
		{func(all []Attacker) []Attacker { all[2].Result.Slices[0].End -= 5; return all }, "slices overlap"},
		{func(all []Attacker) []Attacker { all[2].Result.Windows[1].Start++; return all }, "window 2"},
		{func(all []Attacker) []Attacker { all[2].Result.Windows = nil; return all }, "windows"},
	} {
		var all []Attacker
		for i, name := range []string{"a", "b", "c"} {
			all = append(all, Attacker{Name: name, Result: resultOf([]ended{{due: 3 * time.Second, status: 200}}, i, 3)})
		}
		if _, err := Merge(c.spoil(all)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
