package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/suggest"
)

// Isolations are the ways to keep implementations that are not under test
// from disturbing the one that is.
func Isolations() []string { return []string{"parked", "coresident", "joined"} }

const maxRepeats = 100

// Resolve checks the plan against the catalogue and returns it with every
// default filled in. All problems are returned at once, as one usage error;
// the plan itself is not changed.
func (p *Plan) Resolve(c Catalogue) (*Plan, error) {
	r := &resolver{catalogue: c}
	out := *p
	r.header(&out)
	r.observe(&out.Observe)
	out.Implementations = r.implementations(p.Implementations)
	out.Scenarios = r.scenarios(p.Scenarios)
	if err := failure.Problems(r.problems); err != nil {
		return nil, err
	}
	return &out, nil
}

type resolver struct {
	catalogue Catalogue
	problems  []error
}

func (r *resolver) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf(format, args...))
}

func (r *resolver) header(p *Plan) {
	if p.APIVersion != APIVersion {
		r.problem("apiVersion: %q is not %s", p.APIVersion, APIVersion)
	}
	if p.Kind != Kind {
		r.problem("kind: %q is not %s", p.Kind, Kind)
	}
	if p.Repeats == 0 {
		p.Repeats = 1
	}
	if p.Repeats < 1 || p.Repeats > maxRepeats {
		r.problem("repeats: %d is not between 1 and %d", p.Repeats, maxRepeats)
	}
	if p.Isolation == "" {
		p.Isolation = "parked"
	}
	if !slices.Contains(Isolations(), p.Isolation) {
		r.problem("isolation: %q is not one of %s", p.Isolation, strings.Join(Isolations(), ", "))
	}
}

func (r *resolver) implementations(asked []Treatment) []Treatment {
	if len(asked) == 0 {
		r.problem("implementations: none is named; there are %s", strings.Join(r.implementationNames(), ", "))
	}
	for i, t := range asked {
		where := fmt.Sprintf("implementations[%d]", i)
		r.form(where, t)
		if t.Name == "" {
			r.alone(where, t, asked[:i], true)
			continue
		}
		k := slices.IndexFunc(r.catalogue.Implementations, func(known Implementation) bool { return known.Name == t.Name })
		if k < 0 {
			r.unknown(where+".name", "implementation", t.Name, r.implementationNames())
			continue
		}
		known := r.catalogue.Implementations[k]
		if t.Variant != "" && !slices.Contains(known.Variants, t.Variant) {
			r.unknown(where+".variant", "variant of "+t.Name, t.Variant, known.Variants)
		}
		r.alone(where, t, asked[:i], known.Several)
	}
	return slices.Clone(asked)
}

// version is a release, or the beginning of a commit's hash.
var version = regexp.MustCompile(`^(v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?|[0-9a-f]{7,40})$`)

// form checks what a treatment says of itself, without looking at others.
func (r *resolver) form(where string, t Treatment) {
	if t.Name == "" && t.GatewayClass == "" {
		r.problem("%s: needs a name, or a gatewayClass that the cluster has", where)
	}
	if t.Version != "" && !version.MatchString(t.Version) {
		r.problem("%s.version: %q is neither a version such as v1.2.3 nor a commit", where, t.Version)
	}
	if t.Version != "" && t.Checkout != "" {
		r.problem("%s: version %s and checkout %s exclude each other: a checkout is what it is", where, t.Version, t.Checkout)
	}
	if t.GatewayClass != "" && (t.Version != "" || t.Checkout != "" || t.Variant != "" || len(t.Values) > 0) {
		r.problem("%s.gatewayClass: what serves %s is measured as it is: a version, checkout, variant or values cannot be asked for", where, t.GatewayClass)
	}
}

// alone checks that a treatment is not there already, and that its installation
// fits in a cluster with those of the same implementation.
func (r *resolver) alone(where string, t Treatment, before []Treatment, several bool) {
	if t.Copy != 0 {
		r.copy(where, t, before)
		return
	}
	for n, b := range before {
		switch {
		case b.Copy != 0 || b.Name != t.Name:
		case b.String() == t.String():
			r.problem("%s: %s stands at implementations[%d] already; copy: 2 measures the same one twice", where, t, n)
			return
		case !several:
			r.problem("%s: %s stands at implementations[%d] already, and a cluster has room for one %s: its data has no beside", where, b, n, t.Name)
			return
		}
	}
}

const maxCopies = 9

// copy checks a treatment that shares the installation of one before it.
func (r *resolver) copy(where string, t Treatment, before []Treatment) {
	original := t
	original.Copy = 0
	at := func(name string) int {
		return slices.IndexFunc(before, func(b Treatment) bool { return b.String() == name })
	}
	switch {
	case t.Copy < 2 || t.Copy > maxCopies:
		r.problem("%s.copy: %d is not between 2 and %d", where, t.Copy, maxCopies)
	case at(t.String()) >= 0:
		r.problem("%s: %s stands at implementations[%d] already", where, t, at(t.String()))
	case at(original.String()) < 0:
		r.problem("%s.copy: there is no %s before it, which it could be a copy of", where, original)
	case len(t.Values) > 0:
		r.problem("%s.values: a copy is what %s installs; its values stand there", where, original)
	}
}

func (r *resolver) scenarios(asked []Trial) []Trial {
	if len(asked) == 0 {
		r.problem("scenarios: none is named; there are %s", strings.Join(r.scenarioNames(), ", "))
	}
	seen := map[string]int{}
	var out []Trial
	for i, t := range asked {
		where := fmt.Sprintf("scenarios[%d]", i)
		if first, ok := seen[t.String()]; ok {
			r.problem("%s: %s stands at scenarios[%d] already; give one of them a variant name", where, t, first)
		}
		seen[t.String()] = i
		if t.Variant != "" && !isLabel(t.Variant) {
			r.problem("%s.variant: %q is not a name of lower-case letters, digits and dashes", where, t.Variant)
		}
		k := slices.IndexFunc(r.catalogue.Scenarios, func(s Scenario) bool { return s.Name == t.Name })
		if k < 0 {
			r.unknown(where+".name", "scenario", t.Name, r.scenarioNames())
			continue
		}
		t.Parameters = r.parameters(where, r.catalogue.Scenarios[k], t.Parameters)
		out = append(out, t)
	}
	return out
}

func (r *resolver) parameters(where string, s Scenario, asked map[string]any) map[string]any {
	var names []string
	values := map[string]any{}
	before := len(r.problems)
	for _, p := range s.Parameters {
		names = append(names, p.Name)
		values[p.Name] = p.Default
		v, ok := asked[p.Name]
		if !ok {
			continue
		}
		parsed, err := p.parse(v)
		if err != nil {
			r.problem("%s.parameters.%s: %w", where, p.Name, err)
			continue
		}
		values[p.Name] = parsed
	}
	for _, name := range sorted(keys(asked)) {
		if !slices.Contains(names, name) {
			r.unknown(where+".parameters", "parameter of "+s.Name, name, names)
		}
	}
	if s.Check != nil && len(r.problems) == before {
		for _, err := range s.Check(values) {
			r.problem("%s.parameters: %w", where, err)
		}
	}
	for name, v := range values {
		if d, ok := v.(time.Duration); ok {
			values[name] = d.String()
		}
	}
	return values
}

func (r *resolver) unknown(where, what, name string, names []string) {
	switch near := suggest.Nearest(name, names); {
	case near != "":
		r.problem("%s: no %s is called %q; did you mean %s?", where, what, name, near)
	case len(names) == 0:
		r.problem("%s: there is no %s, so not %q either", where, what, name)
	default:
		r.problem("%s: no %s is called %q; there are %s", where, what, name, strings.Join(sorted(names), ", "))
	}
}

func (r *resolver) implementationNames() []string {
	var names []string
	for _, i := range r.catalogue.Implementations {
		if !i.Unlisted {
			names = append(names, i.Name)
		}
	}
	return sorted(names)
}

func (r *resolver) scenarioNames() []string {
	var names []string
	for _, s := range r.catalogue.Scenarios {
		names = append(names, s.Name)
	}
	return sorted(names)
}

func isLabel(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (c != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return s != "" && len(s) <= 30
}

func keys(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names
}
