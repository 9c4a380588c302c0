package events

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func event(id string) *Event {
	return &Event{Specversion: []byte("1.0"), ID: []byte(id), Source: []byte("s"), Type: []byte("t")}
}

func TestLossAndDuplicates(t *testing.T) {
	r := NewReceiver()
	var recent Recent
	// In no order, as many connections make it.
	numbers := rand.Perm(100_000)
	lost := map[int]bool{5: true, 6: true, 7: true, 64: true, 65_535: true, 65_536: true, 99_998: true}
	for _, n := range numbers {
		if !lost[n] {
			r.Receive(event(fmt.Sprintf("run-%d", n)), n%2 == 0, &recent)
		}
	}
	for _, n := range []int{0, 99_999, 0} {
		r.Receive(event(fmt.Sprintf("run-%d", n)), false, &recent)
	}
	r.Receive(event("no number"), false, &recent)
	got := r.Counts()
	want := []StreamCount{{
		Source: "s", Prefix: "run-", Received: 100_000 - 7 + 3, Duplicates: 3, First: 0, Last: 99_999, Missing: 7,
		Gaps: []Range{{5, 7}, {64, 64}, {65_535, 65_536}, {99_998, 99_998}},
	}}
	if diff := cmp.Diff(want, got.Streams); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Received != 100_000-7+3+1 || got.Unnumbered != 1 || got.Binary+got.Structured != got.Received || got.Structured != 50_000-4 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]TypeCount{{"t", got.Received}}, got.Types); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReceiversUnite(t *testing.T) {
	receivers := []*Receiver{NewReceiver(), NewReceiver(), NewReceiver()}
	for n := range 200_000 {
		if n == 1234 {
			continue // lost
		}
		receivers[rand.IntN(3)].Receive(event(fmt.Sprint(n)), false, new(Recent))
		if n%50_000 == 0 {
			for _, r := range receivers { // retried until all have it
				r.Receive(event(fmt.Sprint(n)), false, new(Recent))
			}
		}
	}
	all, common := new(Numbers), uint64(0)
	for _, r := range receivers {
		text, err := json.Marshal(r.Streams())
		if err != nil {
			t.Fatal(err)
		}
		var streams []StreamNumbers
		if err := json.Unmarshal(text, &streams); err != nil {
			t.Fatal(err)
		}
		common += all.Union(streams[0].Numbers)
	}
	gaps := slices.Collect(all.Gaps())
	if diff := cmp.Diff([]Range{{1234, 1234}}, gaps); diff != "" || common != 8 || all.Len() != 199_999 {
		t.Errorf("%d common, %d in all, gaps (-want +got):\n%s", common, all.Len(), diff)
	}
}

func TestNumbersAgainstAMap(t *testing.T) {
	for range 50 {
		var s Numbers
		known := map[uint64]bool{}
		for range 3000 {
			n := rand.Uint64N(2000) + 65_000
			if (s.Add(n) == Duplicate) != known[n] {
				t.Fatalf("%d", n)
			}
			known[n] = true
		}
		first, last := s.Bounds()
		missing := uint64(0)
		for gap := range s.Gaps() {
			for n := gap.First; n <= gap.Last; n++ {
				if known[n] || n < first || n > last {
					t.Fatalf("%d is no gap", n)
				}
				missing++
			}
		}
		if missing != s.Missing() || s.Len() != uint64(len(known)) {
			t.Fatalf("%d missing in gaps, %d by count", missing, s.Missing())
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	r := NewReceiver()
	for i := range maxStreams + 10 {
		r.Receive(event(fmt.Sprintf("%x-x%d", i, i)), false, new(Recent))
		r.Receive(&Event{ID: []byte("1"), Source: []byte("z"), Type: fmt.Append(nil, i)}, false, new(Recent))
	}
	got := r.Counts()
	if len(got.Streams) != maxStreams || len(got.Types) != maxTypes+1 || got.NoRoom == 0 {
		t.Errorf("%d streams, %d types, %d without room", len(got.Streams), len(got.Types), got.NoRoom)
	}
	var budget atomic.Int64
	budget.Store(2)
	s := Numbers{budget: &budget}
	for n := range uint64(pageSize) { // is complete, and gives its page back
		s.Add(n)
	}
	for i, want := range []Outcome{Added, Added, NoRoom, Duplicate} {
		if got := s.Add([]uint64{1 << 20, 1 << 30, 1 << 40, 77}[i]); got != want {
			t.Errorf("number %d: %v, want %v", i, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	for id, want := range map[string]string{
		"a-12": "a-|12|true", "7": "|7|true", "": "|0|false", "abc": "abc|0|false", "a-007": "a-|7|true",
		"1234567890123456789": "1|234567890123456789|true",
	} {
		prefix, n, ok := split([]byte(id))
		if got := fmt.Sprintf("%s|%d|%v", prefix, n, ok); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	var d Decoder
	var e Event
	good := `{"data":{"id":"no"},"id":"5\u00e9","source":"/s","type":"t","specversion":"1.0","x":[1,{"id":2}]}`
	if err := d.Decode([]byte(good), &e); err != nil || string(e.ID) != "5é" || string(e.Source) != "/s" || string(e.Type) != "t" {
		t.Errorf("%+v: %v", e, err)
	}
	for _, bad := range []string{
		"", "[]", "{", `{"id":"1","source":"s","type":"t"}`, `{"id":1,"source":"s","type":"t","specversion":"1.0"}`,
		`{"id":"1","source":"s","type":"t","specversion":"0.3"}`, `{"id":"1","source":"s","type":"t","specversion":"1.0"`,
	} {
		if err := d.Decode([]byte(bad), &e); err == nil {
			t.Errorf("%q: %+v", bad, e)
		}
	}
}

func TestReceiveIsSafeAndDoesNotAllocate(t *testing.T) {
	r := NewReceiver()
	var wait sync.WaitGroup
	for w := range 8 {
		wait.Go(func() {
			var recent Recent
			for n := range 10_000 {
				r.Receive(event(fmt.Sprint(n*8+w)), false, &recent)
			}
		})
	}
	wait.Wait()
	if got := r.Counts(); got.Streams[0].Missing != 0 || got.Received != 80_000 || got.Streams[0].Duplicates != 0 {
		t.Errorf("%+v", got)
	}
	var recent Recent
	e := event("5")
	r.Receive(e, false, &recent)
	if n := testing.AllocsPerRun(100, func() { r.Receive(e, false, &recent) }); n != 0 {
		t.Errorf("%v allocations for each event", n)
	}
}
