package scrape

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const answer = `# HELP go_memstats_heap_alloc_bytes Number of heap bytes allocated and currently in use.
# TYPE go_memstats_heap_alloc_bytes gauge
go_memstats_heap_alloc_bytes 1.5e+07
# TYPE go_memstats_mallocs_total counter
go_memstats_mallocs_total 123456
# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds{quantile="0"} 2e-05
go_gc_duration_seconds{quantile="1"} 0.0003
go_gc_duration_seconds_sum 0.01
go_gc_duration_seconds_count 42
# TYPE request_seconds histogram
request_seconds_bucket{path="/a",le="0.1"} 3
request_seconds_bucket{path="/a",le="+Inf"} 4
request_seconds_sum{path="/a"} 1
request_seconds_count{path="/a"} 4
# TYPE xds_snapshot_update_total counter
xds_snapshot_update_total{nodeID="a",status="success"} 5
xds_snapshot_update_total{nodeID="b",status="success"} 6
untyped 1
`

func TestParse(t *testing.T) {
	got, err := Parse(strings.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	// Every line that is no comment is a series.
	lines := 0.0
	for line := range strings.Lines(answer) {
		if !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	want := Numbers{Series: lines, Heap: 1.5e7, GC: 42, Allocations: 123456, Pushes: 11}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseWhatIsNotThere(t *testing.T) {
	got, err := Parse(strings.NewReader("up 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Numbers{Series: 1, Heap: math.NaN(), GC: math.NaN(), Allocations: math.NaN(), Pushes: math.NaN()}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Parse(strings.NewReader("<html>\n")); err == nil {
		t.Error("a page that is no metrics was read")
	}
}

func TestSummarize(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	one := func(round int, pod string, series, heap, gc, pushes float64) Scrape {
		return Scrape{Round: round, At: at(round * 5), Role: "control-plane", Pod: pod, Bytes: 100, Fetch: time.Millisecond, Parse: time.Millisecond,
			Numbers: Numbers{Series: series, Heap: heap, GC: gc, Allocations: math.NaN(), Pushes: pushes}}
	}
	nan := math.NaN()
	scrapes := []Scrape{
		one(0, "a", 1, 1, 1, 1), // before the window
		one(1, "a", 10, 100, 5, nan),
		one(2, "a", 20, 300, 7, 2),
		one(2, "b", 5, 50, 3, nan),                           // came later: it began at zero
		{Round: 2, At: at(10), Role: "data-plane", Pod: "c"}, // somebody else's
		one(3, "a", 12, 100, 1, 4),                           // restarted
		{Round: 3, At: at(15), Role: "control-plane", Pod: "b", Err: cmpopts.AnyError},
		one(9, "a", 99, 999, 99, 99), // after it
	}
	got, points := Summarize(scrapes, "control-plane", at(5), at(20))
	want := Sum{SeriesBegin: 10, SeriesEnd: 12, SeriesPeak: 25, HeapPeak: 350, GC: 2 + 1 + 3, Allocations: nan, Pushes: 2, Scrapes: 5, Failed: 1,
		Bytes: 100, Took: 2 * time.Millisecond, Err: cmpopts.AnyError}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateErrors()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantPoints := []Point{{at(5), 10, 100}, {at(10), 25, 350}, {at(15), 12, 100}}
	if diff := cmp.Diff(wantPoints, points); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}
