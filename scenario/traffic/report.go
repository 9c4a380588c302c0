package traffic

import (
	"math"
	"strconv"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// doubtLimit is the share of the gateway's measurements that may be no evidence.
const doubtLimit = 0.5

// report turns what was seen into metrics, tables, series, figures, findings
// and gates.
func (t *traffic) report() {
	t.judge()
	t.metrics()
	t.tables()
	t.series()
	t.figures()
	t.findings()
	t.notes()
	gateway, doubtful := 0, 0
	for _, one := range t.seen {
		if !one.direct {
			gateway++
			if !one.valid() {
				doubtful++
			}
		}
	}
	t.Gate("doubtful-measurements", "share of the measurements of the gateway that were limited by the attacker, the backend or the direct path", "ratio",
		float64(doubtful)/float64(max(gateway, 1)), doubtLimit)
}

func (t *traffic) metrics() {
	var all []*summary
	for _, payload := range t.payloads() {
		all = append(all, t.closed(payload)...)
	}
	if top := best(all); top != nil {
		t.Metric("max-throughput", ofRounds(result.Value("Highest throughput of a closed loop", "1/s", top.rate()), top).Higher())
		t.metric("cpu-per-million", "CPU time of the data plane for a million requests, at the highest throughput", "s", top.cost(attack.Use.Gateway), top)
		t.metric("gateway-share", "Share of all CPU time that the data plane used, at the highest throughput", "ratio", top.cores(attack.Use.Gateway)/top.cores(func(u attack.Use) float64 { return u.All }), top)
	}
	if loops := t.closed(t.payloads()[0]); len(loops) > 1 {
		t.Metric("knee", result.Count("Connections from which on the throughput is within 5 % of the highest", knee(loops).point.connections))
	}
	errors, requests, sent := 0, 0, 0
	for _, p := range t.points {
		s := t.summarize(p, false)
		errors += scenario.Total(s.errors())
		requests += int(s.counts.Requests())
		t.pointMetrics(s)
	}
	for _, one := range t.seen {
		if !one.direct {
			sent += int(one.Sent)
		}
	}
	m := result.Count("Requests through the gateway that failed", errors)
	m.N = requests
	t.Metric("errors", m.Lower())
	t.Metric("requests-sent", result.Count("Requests sent to the gateway in all, warm-ups and first checks too: what its own counter must say", sent+t.heldSent()+t.Checks))
	t.idleMetric()
}

// metric leaves out what nobody knows.
func (t *traffic) metric(name, title, unit string, v float64, s *summary) {
	if !math.IsNaN(v) {
		t.Metric(name, ofRounds(result.Value(title, unit, v), s).Lower())
	}
}

// ofRounds says of how many rounds a number is the median, and what is to be
// thought of it.
func ofRounds(m result.Metric, s *summary) result.Metric {
	m.N = len(s.rounds)
	if s.verdict != attack.Fine {
		m.Warnings = append(m.Warnings, string(s.verdict))
	}
	return m
}

// pointMetrics are those of one point; their names end with its key.
func (t *traffic) pointMetrics(s *summary) {
	key, of := s.point.key(), ", "+s.point.String()
	t.Metric("throughput-"+key, ofRounds(result.Value("Answers a second"+of, "1/s", s.rate()), s).Higher())
	if l := s.latency(); l != nil && s.point.rate > 0 {
		t.Metric("latency-"+key, withVerdict(attack.Distribution("Latency"+of, l), s))
	}
	if l := s.service(); l != nil {
		t.Metric("service-"+key, withVerdict(attack.Distribution("Service time"+of, l), s))
	}
	t.connectionMetrics(s, key, of)
	for _, c := range attack.Consumers {
		t.metric("cpu-"+c.Name+"-"+key, "CPU time for a million requests, "+c.Title+of, "s", s.cost(c.Of), s)
	}
	t.metric("memory-"+key, "Largest working set of the data plane"+of, "B", s.median(func(one *seen) float64 { return one.Use.Memory }), s)
}

// connectionMetrics are about new connections, where requests get such.
func (t *traffic) connectionMetrics(s *summary, key, of string) {
	if t.Wire.Fresh == 0 {
		return
	}
	connect, handshake := load.NewHistogram(), load.NewHistogram()
	for _, one := range s.rounds {
		for _, part := range []struct{ all, of *load.Histogram }{{connect, one.Result.ConnectTimes}, {handshake, one.Result.HandshakeTimes}} {
			if part.of != nil {
				part.all.Merge(part.of)
			}
		}
	}
	if l := connect.Summary(); l != nil {
		t.Metric("connect-"+key, withVerdict(attack.Distribution("Time until a connection was open"+of, l), s))
		t.metric("connections-per-second-"+key, "New connections a second"+of, "1/s", s.rate()*t.Wire.Fresh, s)
	}
	if l := handshake.Summary(); l != nil {
		t.Metric("handshake-"+key, withVerdict(attack.Distribution("Time of a TLS handshake"+of, l), s))
	}
}

func withVerdict(m result.Metric, s *summary) result.Metric {
	if s.verdict != attack.Fine {
		m.Warnings = append(m.Warnings, string(s.verdict))
	}
	return m
}

// notes say what must be known of the machine and the way.
func (t *traffic) notes() {
	t.Note("Requests were %s. They went to %s (through: %s), the direct ones to %d %s of the backend. The node that measures has %d CPUs.",
		t.Wire, t.Gateway, t.Values.String("through"), len(t.Backends), scenario.Plural(len(t.Backends), "pod"), t.CPUs)
	if t.Scale() != 1 {
		t.Note("The rates are for a machine with %d CPUs and were multiplied by %d/%d.", t.Values.Int("ratesFor"), t.CPUs, t.Values.Int("ratesFor"))
	}
	if t.Meter == nil {
		t.Note("Use of resources was not observed: there is no CPU time in this trial.")
		return
	}
	var all []*summary
	for _, payload := range t.payloads() {
		all = append(all, t.closed(payload)...)
	}
	if top := best(all); top != nil {
		whole := top.cores(func(u attack.Use) float64 { return u.All })
		share := func(of func(attack.Use) float64) string {
			return strconv.FormatFloat(100*top.cores(of)/whole, 'f', 0, 64) + " %"
		}
		t.Note("At the highest throughput %.2f of %d CPUs were used: %s of that by the data plane, %s by attackers, %s by backends. Where these share a node, a gateway with CPUs of its own carries more.",
			whole, t.CPUs, share(attack.Use.Gateway), share(func(u attack.Use) float64 { return u.Attackers }), share(func(u attack.Use) float64 { return u.Backends }))
	}
}
