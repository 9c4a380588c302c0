package detection

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/truth/fault"
)

// A reading is what a trial says of when a route came into force on a replica,
// and what the replica says: all in seconds since the route's write.
type reading struct {
	route, replica int
	// after and by are the trial's: it was not in force yet at the one, and was
	// at the other.
	after, by float64
	// since and until are the replica's.
	since, until float64
}

// off is how far the middle of what the trial says is from the truth.
func (r reading) off() float64 { return (r.after+r.by)/2 - (r.since+r.until)/2 }

// readings holds every route on every replica. Of several kinds of connections
// each contains the truth, and so does what they have in common.
func readings(t *testing.T, tried *Tried) []reading {
	t.Helper()
	numbers := func(series, column string) result.Numbers { return columnOf(t, tried, series, column).Values }
	written := numbers("routes", "written")
	routes, after, by := numbers("lanes", "route"), numbers("lanes", "first-after"), numbers("lanes", "first-served")
	replicas := columnOf(t, tried, "lanes", "replica").Labels
	known := map[[2]int]int{} // where a route and a replica stand in all
	var all []reading
	for i := range routes {
		route, replica := int(routes[i])-1, place(t, tried, replicas[i])
		key := [2]int{route, replica}
		if at, ok := known[key]; ok {
			all[at].after, all[at].by = max(all[at].after, after[i]), min(all[at].by, by[i])
			continue
		}
		force, ok := tried.Forces[replica].Routes[tried.ID+"/"+fmt.Sprintf("route-%05d", route)]
		if !ok {
			t.Fatalf("route %d is not in force on replica %d", route, replica)
		}
		since := func(at time.Time) float64 { return at.Sub(tried.Began).Seconds() - written[route] }
		known[key] = len(all)
		all = append(all, reading{route, replica, after[i], by[i], since(force.Since), since(force.By)})
	}
	return all
}

func columnOf(t *testing.T, tried *Tried, series, column string) result.Column {
	t.Helper()
	at := slices.IndexFunc(tried.Series, func(s result.Series) bool { return s.Name == series })
	if at < 0 {
		t.Fatalf("no series %s", series)
	}
	c, ok := tried.Series[at].Column(column)
	if !ok {
		t.Fatalf("series %s has no column %s", series, column)
	}
	return c
}

// place finds the replica that a lane probed.
func place(t *testing.T, tried *Tried, name string) int {
	t.Helper()
	address, err := netip.ParseAddrPort(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range tried.Replicas {
		if r.Address() == address.Addr() {
			return i
		}
	}
	t.Fatalf("no replica is at %s", name)
	return 0
}

func median(all []reading, of func(reading) float64) float64 {
	var values []float64
	for _, r := range all {
		values = append(values, of(r))
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// rounding is what numbers of seconds lose.
const rounding = 1e-6

// TestKnownTimes holds what route-propagation says against what the replicas
// know: each of its intervals has the truth in it, and half of their middles
// are within 1 ms, or 2 %, of it.
func TestKnownTimes(t *testing.T) {
	b := open(t, 3)
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, c := range []struct {
		name   string
		faults fault.Faults
		least  [3]time.Duration // that each replica takes
	}{
		{"5ms", fault.Faults{Propagation: ms(5)}, [3]time.Duration{ms(5), ms(5), ms(5)}},
		{"50ms", fault.Faults{Propagation: ms(50)}, [3]time.Duration{ms(50), ms(50), ms(50)}},
		{"500ms", fault.Faults{Propagation: ms(500)}, [3]time.Duration{ms(500), ms(500), ms(500)}},
		{"5ms, one replica 200ms more", fault.Faults{Propagation: ms(5), Late: map[int]time.Duration{2: ms(200)}}, [3]time.Duration{ms(5), ms(5), ms(205)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.faults.Late == nil && !whole() {
				t.Skip("part of make test-instrument: set GATEMARK_INSTRUMENT=whole")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			tried, err := b.Try(ctx, Try{Scenario: "route-propagation", Faults: c.faults,
				Parameters: map[string]any{"routes": 20, "connections": "kept", "step": "1ms", "settle": "50ms"}})
			if err != nil {
				t.Fatal(err)
			}
			if tried.Outcome != result.OK {
				t.Fatalf("%s: %s, after %q", tried.Outcome, tried.Reason, tried.Invalid)
			}
			all := readings(t, tried)
			if len(all) != 20*3 {
				t.Fatalf("%d readings of 20 routes on 3 replicas", len(all))
			}
			for _, r := range all {
				if r.after > r.until+rounding || r.by < r.since-rounding {
					t.Errorf("route %d on replica %d was in force between %.6f s and %.6f s; the trial says between %.6f s and %.6f s",
						r.route, r.replica, r.since, r.until, r.after, r.by)
				}
				if r.since < c.least[r.replica].Seconds() {
					t.Errorf("route %d on replica %d was in force after %.6f s already", r.route, r.replica, r.since)
				}
			}
			for replica := range 3 {
				agree(t, slices.DeleteFunc(slices.Clone(all), func(r reading) bool { return r.replica != replica }))
			}
		})
	}
}

// agree holds the readings of one replica against the truth.
func agree(t *testing.T, all []reading) {
	t.Helper()
	truth := median(all, func(r reading) float64 { return r.since })
	off := median(all, reading.off)
	limit := max(0.001, 0.02*truth)
	worst := 0.0
	for _, r := range all {
		worst = max(worst, math.Abs(r.off()))
	}
	t.Logf("replica %d: in force after %.2f ms; reported as served after %.2f ms; the middle of the interval is %+.2f ms off, at worst %.2f ms; the interval is %.2f ms long (medians of %d routes)",
		all[0].replica, 1e3*truth, 1e3*median(all, func(r reading) float64 { return r.by }), 1e3*off, 1e3*worst,
		1e3*median(all, func(r reading) float64 { return r.by - r.after }), len(all))
	if math.Abs(off) > limit {
		t.Errorf("replica %d: half of the readings are over %.2f ms off, the limit is %.2f ms", all[0].replica, 1e3*math.Abs(off), 1e3*limit)
	}
}
