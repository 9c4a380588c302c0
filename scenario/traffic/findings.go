package traffic

import (
	"fmt"
	"math"
	"strings"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// The thresholds of the findings.
const (
	// slowBy is how much longer a request may take through the gateway than
	// without it, in the median, while little is asked of it.
	slowBy = 0.002
	// connectionShare is how many connections a request may cost, beyond those
	// that a pool needs.
	connectionShare = 0.1
	// degraded is what the throughput with more connections may come to, as a
	// share of the highest, and of the same share on the direct path.
	degraded = 0.7
	// A data plane uses one core where its use lies between these, at every number
	// of connections above one, while the throughput changes by less than flat and
	// at least an idle core is left.
	oneCoreLeast, oneCoreMost, flat, idleCores = 0.8, 1.2, 1.25, 1.0
	// oneCoreCPUs is how many CPUs it takes to tell.
	oneCoreCPUs = 4
)

func (t *traffic) findings() {
	t.findErrors()
	t.findConnections()
	t.findSlow()
	for _, payload := range t.payloads() {
		if t.findDegrades(payload) {
			break
		}
	}
	t.findOneCore()
}

// findErrors: nothing changes in this trial, so that no error has an excuse but
// the backend's own.
func (t *traffic) findErrors() {
	errors, requests, direct := map[string]int{}, 0, 0
	var lines []string
	for _, p := range t.points {
		s := t.summarize(p, false)
		if beside := t.summarize(p, true); beside != nil {
			direct += scenario.Total(beside.errors())
		}
		requests += int(s.counts.Requests())
		for class, n := range s.errors() {
			errors[class] += n
			lines = append(lines, fmt.Sprintf("%s: %d times %s among %d", p, n, class, s.counts.Requests()))
		}
	}
	n := scenario.Total(errors)
	if n == 0 || direct >= n {
		return
	}
	t.Find("errors", result.Broken,
		fmt.Sprintf("under load, while nothing changed, %d of %d requests through the gateway failed (%s); of those straight to the backend %d did",
			n, requests, strings.Join(scenario.Tally(errors, "%d× %s"), ", "), direct),
		result.Evidence{Name: "where", Text: scenario.Excerpt(lines)})
}

// findConnections: a pool has as many connections as there are requests at a
// time. More were opened because others were closed.
func (t *traffic) findConnections() {
	var accepted, expected, requests int64
	for _, one := range t.seen {
		if !one.direct {
			accepted += one.Received.Accepted
			expected += int64(one.point.connections)
			requests += one.Received.Requests
		}
	}
	if requests == 0 || float64(accepted-expected) < connectionShare*float64(requests) {
		return
	}
	t.Find("connection-per-request", result.Costly,
		fmt.Sprintf("the data plane opened %d connections to the backend for %d requests, where %d would have done: it does not keep them, and each request waits and pays for a new one",
			accepted, requests, expected),
		result.Evidence{Name: "counted by the backend", Text: fmt.Sprintf("%d connections, %d requests: %.2f connections for each", accepted, requests, float64(accepted)/float64(requests))})
}

// findSlow looks at the fewest connections, and at the lowest rate if there is
// one: nobody waits for anybody else there.
func (t *traffic) findSlow() {
	quiet, ok := t.quiet()
	if !ok {
		return
	}
	gateway, direct := t.summarize(quiet, false), t.summarize(quiet, true)
	if direct == nil || gateway.service() == nil || direct.service() == nil {
		return
	}
	for _, one := range gateway.rounds { // a stall of the machine does not last for all rounds
		other := t.partner(one)
		if one.Result.ServiceTime == nil || other == nil || other.Result.ServiceTime == nil || one.Result.ServiceTime.P50-other.Result.ServiceTime.P50 <= slowBy {
			return
		}
	}
	t.Find("slow", result.Costly,
		fmt.Sprintf("a request takes %s through the gateway and %s without it (medians; %s): the gateway itself is slow, not its queue",
			scenario.Seconds(gateway.service().P50), scenario.Seconds(direct.service().P50), quiet),
		result.Evidence{Name: "requests", Text: fmt.Sprintf("%d through the gateway, %d without it", gateway.service().Count, direct.service().Count)})
}

// quiet is the point with the least load, of those that are evidence.
func (t *traffic) quiet() (point, bool) {
	var least *point
	for i := range t.points {
		p := &t.points[i]
		if s := t.summarize(*p, false); s == nil || !s.valid() {
			continue
		}
		switch {
		case least == nil,
			(p.rate > 0) && (least.rate == 0),
			(p.rate > 0) == (least.rate > 0) && p.rate < least.rate,
			p.rate == least.rate && p.connections < least.connections,
			p.rate == least.rate && p.connections == least.connections && p.payload < least.payload:
			least = p
		}
	}
	if least == nil {
		return point{}, false
	}
	return *least, true
}

// findDegrades reports whether it found that more connections make it slower.
// What the direct path loses with them is the machine's.
func (t *traffic) findDegrades(payload int) bool {
	all := t.closed(payload)
	if len(all) < 2 {
		return false
	}
	top, last := best(all), all[len(all)-1]
	share := last.rate() / top.rate()
	directTop, directLast := t.summarize(top.point, true), t.summarize(last.point, true)
	if directTop == nil || directLast == nil {
		return false
	}
	around := math.Min(1, directLast.rate()/directTop.rate())
	if share >= degraded || share >= degraded*around {
		return false
	}
	var lines []string
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("%s: %.0f/s", s.point, s.rate()))
	}
	t.Find("degrades", result.Costly,
		fmt.Sprintf("with %d connections the gateway carries %.0f requests/s, %.0f %% fewer than with %d (%.0f/s); the direct path has %.0f %% of its throughput left there",
			last.point.connections, last.rate(), 100*(1-share), top.point.connections, top.rate(), 100*around),
		result.Evidence{Name: "throughput by connections", Text: scenario.Excerpt(lines)})
	return true
}

// findOneCore: a flat throughput at one core's worth of CPU while others idle.
func (t *traffic) findOneCore() {
	var concurrent []*summary
	for _, s := range t.closed(t.payloads()[0]) {
		if s.point.connections > 1 {
			concurrent = append(concurrent, s)
		}
	}
	if len(concurrent) < 2 || t.Meter == nil && math.IsNaN(concurrent[0].cores(attack.Use.Gateway)) {
		return
	}
	if t.CPUs < oneCoreCPUs {
		t.Note("Whether the data plane can use more than one core cannot be told on %d CPUs, which it shares with attackers and backends: it takes %d.", t.CPUs, oneCoreCPUs)
		return
	}
	least, most := math.Inf(1), 0.0
	var lines []string
	for _, s := range concurrent {
		cores, idle := s.cores(attack.Use.Gateway), float64(t.CPUs)-s.cores(func(u attack.Use) float64 { return u.All })
		if !(cores >= oneCoreLeast && cores <= oneCoreMost && idle >= idleCores) {
			return
		}
		least, most = math.Min(least, s.rate()), math.Max(most, s.rate())
		lines = append(lines, fmt.Sprintf("%s: %.0f/s with %.2f CPUs, %.2f of %d idle", s.point, s.rate(), cores, idle, t.CPUs))
	}
	if most > flat*least {
		return
	}
	t.Find("one-core", result.Costly,
		fmt.Sprintf("the data plane cannot use more than one core: with %d to %d connections it carries %.0f to %.0f requests/s and uses about one CPU, while others are idle",
			concurrent[0].point.connections, concurrent[len(concurrent)-1].point.connections, least, most),
		result.Evidence{Name: "throughput and CPUs by connections", Text: scenario.Excerpt(lines)})
}
