package scenario

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A Trial is what a scenario works with: the cluster, the implementation under
// test, its parameters, and the result to fill.
type Trial struct {
	Kube   *kube.Client
	RunID  string
	Target Target
	// Installed: this run installed the implementation, so that its pods may be
	// ended.
	Installed bool
	// Isolation is what was done about the other implementations of the run:
	// parked, coresident or joined. Others are these, one for each that is
	// installed beside the one under test; where they are parked, they have no
	// pods.
	Isolation string
	Others    []Target
	// Namespace is the trial's own: empty at the start, and removed after it
	// with all that is in it.
	Namespace string
	Values    Values
	// Node is the one that measures: wall clocks of other nodes may differ
	// from ours.
	Node string
	// EchoImage is the image of the backends.
	EchoImage string
	// AuditLog is the path of the API server's audit log, or "".
	AuditLog string
	// Progress says how far the trial is.
	Progress func(format string, args ...any)
	// Result is the trial's result, with its identity filled in.
	Result *result.Trial
	// Attachments are written beside the result.
	Attachments map[string][]byte
	// Seize, if it is not nil, keeps what shows why something is broken as it
	// is now, under a name, and returns what refers to it.
	Seize func(name string) []result.Evidence

	// Attack starts so many attackers.
	Attack func(ctx context.Context, attackers int) (Attackers, error)
	// Meter is nil where use is not observed.
	Meter Meter

	// Begun, if it is not nil, is told of each beginning of the measurement. It
	// does not wait.
	Begun func(time.Time)

	// changes are the instants of the changes that the scenario made, for those
	// that make one after another.
	changes []time.Time

	// phases are the names of the events that divide the trial.
	phases []string

	routeVersion string // see RouteVersion
	start        time.Time
	seized       map[string][]result.Evidence
}

// Target is the implementation under test, as it is in this cluster.
type Target struct {
	Treatment      string `json:"treatment"`
	GatewayClass   string `json:"gatewayClass"`
	ControllerName string `json:"controllerName"`
	// ControlPlane selects the pods of the control plane.
	ControlPlane Selector `json:"controlPlane"`
	// GatewayControlPlane selects those of the control plane that one Gateway
	// has for itself, as DataPlane does, or is nil.
	GatewayControlPlane *Selector `json:"gatewayControlPlane,omitempty"`
	// DataPlane selects the pods of one Gateway's data plane, and with them its
	// Service, as kube.Selects has it.
	// Both fields may use {{.Namespace}} and {{.Name}} of the Gateway.
	DataPlane Selector `json:"dataPlane"`
	// Features are what gatemark's data says that it supports, for where its
	// GatewayClass lists none.
	Features []string `json:"features,omitempty"`
	// Images are what the pods of both planes are to run, as far as that is
	// known.
	Images []kube.WantedImage `json:"images,omitempty"`
	// Address is where its Gateways answer, if their status does not say so: a
	// host or an IP address, in which {{.Namespace}} and {{.Name}} are the
	// Gateway's. Empty: their status says so.
	Address string `json:"address,omitempty"`
	// Dialect is the API of its routes, nil for the Gateway API. An
	// implementation without a GatewayClass has no Gateways either: its Service's
	// address is where it answers.
	Dialect *dialect.Dialect `json:"dialect,omitempty"`
	// Policies are those against backends that fail that it can be told.
	Policies []dialect.Policy `json:"policies,omitempty"`
	// Unknown: nothing is known but its GatewayClass. DataPlane is a guess then;
	// where it finds no pods, the Gateway's address is taken for one replica.
	Unknown bool `json:"unknown,omitempty"`
	// ConfigDump is where a data-plane pod shows its configuration, or nil.
	ConfigDump *ConfigDump `json:"configDump,omitempty"`
	// ControlPlaneMetrics and DataPlaneMetrics are where their pods answer in the
	// Prometheus text format, or nil.
	ControlPlaneMetrics        *Metrics `json:"controlPlaneMetrics,omitempty"`
	GatewayControlPlaneMetrics *Metrics `json:"gatewayControlPlaneMetrics,omitempty"`
	DataPlaneMetrics           *Metrics `json:"dataPlaneMetrics,omitempty"`
}

// Metrics is an HTTP endpoint in a pod.
type Metrics struct {
	Port int    `json:"port"`
	Path string `json:"path"`
}

// A Selector finds pods by their labels in a namespace.
type Selector struct {
	Namespace string `json:"namespace"`
	Labels    string `json:"labels"`
}

// PerGateway reports whether each Gateway has such pods of its own.
func (s Selector) PerGateway() bool { return strings.Contains(s.Namespace+s.Labels, "{{") }

// ConfigDump is an HTTP endpoint in a data-plane pod that tells since when
// each part of its configuration is in force, in a format that configdump knows.
type ConfigDump struct {
	Format string `json:"format"`
	Port   int    `json:"port"`
}

// Begin sets the zero of the trial's clock: when it starts, and again when its
// stage is set and the measurement begins.
func (t *Trial) Begin() {
	t.start = time.Now()
	if t.Begun != nil {
		t.Begun(t.start)
	}
}

// Zero is the zero of the trial's clock.
func (t *Trial) Zero() time.Time { return t.start }

// Changed says that a change was made: what was used in the trial is divided by
// the number of changes, and drawn over it.
func (t *Trial) Changed(at time.Time) { t.changes = append(t.changes, at) }

// Changes are when changes were made, in seconds since the measurement began.
func (t *Trial) Changes() []float64 {
	var all []float64
	for _, at := range t.changes {
		all = append(all, t.At(at))
	}
	return all
}

// At is an instant in seconds since the measurement began.
func (t *Trial) At(instant time.Time) float64 { return instant.Sub(t.start).Seconds() }

// Event marks an instant.
func (t *Trial) Event(instant time.Time, name, object string) {
	t.Result.Events = append(t.Result.Events, result.Event{At: t.At(instant), Name: name, Object: object})
}

// Phase marks the beginning of a part of the trial, which pictures of use over
// time show.
func (t *Trial) Phase(instant time.Time, name string) {
	t.Event(instant, name, "")
	t.phases = append(t.phases, name)
}

// Phases are the names of the trial's parts.
func (t *Trial) Phases() []string { return t.phases }

// Broken says, as soon as it is noticed, that there will be a finding of that
// name and of severity broken: its evidence is taken now, and not when the
// finding is put into words. Only the first time counts.
func (t *Trial) Broken(id string) {
	if _, done := t.seized[id]; done || t.Seize == nil {
		return
	}
	if t.seized == nil {
		t.seized = map[string][]result.Evidence{}
	}
	t.seized[id] = t.Seize(id)
}

// Find adds a finding. One of severity broken gets its evidence with it.
func (t *Trial) Find(id string, severity result.Severity, text string, evidence ...result.Evidence) {
	if severity == result.Broken {
		t.Broken(id)
		evidence = append(evidence, t.seized[id]...)
	}
	t.Result.Findings = append(t.Result.Findings, result.Finding{
		ID: t.Result.Scenario + "/" + id, Severity: severity, Text: text, Evidence: evidence,
	})
}

// Gate adds a condition that the trial must meet to be evidence: value must
// not exceed limit.
func (t *Trial) Gate(name, text, unit string, value, limit float64) {
	t.Result.Gates = append(t.Result.Gates, result.Gate{
		Name: name, Text: text, Unit: unit, Value: value, Limit: limit, OK: value <= limit,
	})
}

// Note adds a limit that a reader must know.
func (t *Trial) Note(format string, args ...any) {
	t.Result.Notes = append(t.Result.Notes, fmt.Sprintf(format, args...))
}

// Metric adds a metric under a name.
func (t *Trial) Metric(name string, m result.Metric) {
	if t.Result.Metrics == nil {
		t.Result.Metrics = map[string]result.Metric{}
	}
	t.Result.Metrics[name] = m
}

// Samples summarises seconds as a metric where lower is better.
func (t *Trial) Samples(name, title string, seconds []float64, o stat.Options) {
	o.Unit = "s"
	t.Metric(name, Distribution(title, "s", stat.Summarize(seconds, o)).Lower())
}

// Distribution is a summary in the result's terms: what samples do not carry
// is absent there, NaN here.
func Distribution(title, unit string, s stat.Summary) result.Metric {
	m := result.Metric{
		Title: title, Unit: unit, N: s.N, Censored: s.Censored, Limit: s.Limit,
		Min: known(s.Min), Mean: known(s.Mean), P50: known(s.P50), P90: known(s.P90), P95: known(s.P95),
		P99: known(s.P99), P999: known(s.P999), Max: known(s.Max),
		Lo: known(s.Lo), Hi: known(s.Hi), Warnings: stat.Sentences(s.Warnings),
	}
	if m.Lo != nil {
		m.Confidence = s.Confidence
	}
	return m
}

func known(v float64) *float64 {
	if v != v {
		return nil
	}
	return &v
}

// OneValue is a metric of one value, which is censored where it is infinite.
func OneValue(title string, v, limit float64) result.Metric {
	if math.IsInf(v, 0) {
		return result.Metric{Title: title, Unit: "s", Censored: 1, Limit: limit}
	}
	return result.Value(title, "s", v)
}
