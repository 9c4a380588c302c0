package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/plan"
	engine "github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/scenario/question"
)

// setUp is the estimated time of everything around the trials: a cluster, an
// installation and its removal.
const setUp = 45 * time.Second

// parking is the estimated time to set one implementation aside and bring
// another one back.
const parking = 20 * time.Second

// resolve makes the plan that the flags describe, whole and checked.
func resolve(o *options) (*plan.Plan, error) {
	problems := conflicts(o)
	p, err := source(o)
	if err != nil {
		return nil, failure.Problems(append(problems, err))
	}
	problems = append(problems, override(o, p)...)
	problems = append(problems, locateAll(o, p)...)
	if several := installations(p); o.address != "" && several > 1 {
		problems = append(problems, fmt.Errorf("--address is where one implementation answers, and the plan has %d: give each its address there", several))
	}
	catalogue, err := catalogue(p.Implementations)
	if err != nil {
		return nil, err
	}
	resolved, err := p.Resolve(catalogue)
	if err != nil || len(problems) > 0 {
		return nil, failure.Problems(append(problems, unjoin(err)...))
	}
	if resolved.Seed == 0 {
		resolved.Seed = uint64(time.Now().UnixNano())
	}
	if o.budget > 0 {
		return resolved, fit(resolved, o.budget)
	}
	return resolved, nil
}

func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

// source reads the plan that the flags name: a file, a profile, or smoke.
func source(o *options) (*plan.Plan, error) {
	if o.planFile == "" {
		name := o.profile
		if name == "" {
			name = "smoke"
		}
		return plan.Profile(name)
	}
	var data []byte
	var err error
	if o.planFile == "-" {
		data, err = io.ReadAll(o.streams.In)
	} else {
		data, err = os.ReadFile(o.planFile)
	}
	if err != nil {
		return nil, failure.WithCode(fmt.Errorf("read plan: %w", err), failure.Usage)
	}
	p, err := plan.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", o.planFile, err)
	}
	return p, nil
}

// override lays the flags over the plan.
func override(o *options, p *plan.Plan) []error {
	var problems []error
	if len(o.implementations) > 0 {
		p.Implementations = nil
		for _, name := range o.implementations {
			p.Implementations = append(p.Implementations, plan.ParseTreatment(name, implementation.IsFolder))
		}
	}
	for n := range p.Implementations {
		if o.address != "" {
			p.Implementations[n].Address = o.address
		}
	}
	if len(o.scenarios) > 0 {
		p.Scenarios = choose(p.Scenarios, o.scenarios)
	}
	for _, assignment := range o.set {
		if err := set(p, assignment); err != nil {
			problems = append(problems, err)
		}
	}
	if o.repeats != 0 {
		p.Repeats = o.repeats
	}
	if o.isolation != "" {
		p.Isolation = o.isolation
	}
	if o.seed != 0 {
		p.Seed = o.seed
	}
	return problems
}

// choose keeps the plan's parameters for those of its scenarios that are named.
func choose(have []plan.Trial, names []string) []plan.Trial {
	var chosen []plan.Trial
	for _, name := range names {
		var asked plan.Trial
		asked.Name, asked.Variant, _ = strings.Cut(name, "/")
		at := slices.IndexFunc(have, func(t plan.Trial) bool { return t.Name == asked.Name && t.Variant == asked.Variant })
		if at >= 0 {
			chosen = append(chosen, have[at])
		} else {
			chosen = append(chosen, asked)
		}
	}
	return chosen
}

// set performs SCENARIO.PARAMETER=VALUE on every use of the scenario.
func set(p *plan.Plan, assignment string) error {
	target, value, ok := strings.Cut(assignment, "=")
	name, parameter, dotted := strings.Cut(target, ".")
	if !ok || !dotted || parameter == "" {
		return fmt.Errorf("--set %q does not have the form SCENARIO.PARAMETER=VALUE, such as route-propagation.routes=300", assignment)
	}
	found := false
	for i := range p.Scenarios {
		s := &p.Scenarios[i]
		if s.Name != name && s.String() != name {
			continue
		}
		found = true
		values := map[string]any{}
		for k, v := range s.Parameters {
			values[k] = v
		}
		values[parameter] = value
		s.Parameters = values
	}
	if !found {
		return fmt.Errorf("--set %q: the plan has no scenario %q", assignment, name)
	}
	return nil
}

// locateAll finds the folders and checkouts of the plan: those that a file
// names are relative to that file.
func locateAll(o *options, p *plan.Plan) []error {
	base := "."
	if o.planFile != "" && o.planFile != "-" && len(o.implementations) == 0 {
		base = filepath.Dir(o.planFile)
	}
	var problems []error
	for n := range p.Implementations {
		if err := locate(&p.Implementations[n], base); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// catalogue is what a plan can ask for, with the folders that it names.
func catalogue(asked []plan.Treatment) (plan.Catalogue, error) {
	c := plan.Catalogue{Scenarios: engine.Scenarios()}
	all, err := implementation.All()
	if err != nil {
		return c, err
	}
	for _, t := range asked {
		if t.Folder == "" {
			continue
		}
		// What is wrong with the folder was said when it was located.
		if i, err := implementation.LoadDirectory(t.Folder); err == nil {
			all = append([]*implementation.Implementation{i}, all...)
		} else {
			all = append(all, &implementation.Implementation{Name: t.Name, Internal: true})
		}
	}
	for _, i := range all {
		entry := plan.Implementation{Name: i.Name, Unlisted: i.Internal, Several: i.Beside != nil}
		for _, v := range i.Variants {
			entry.Variants = append(entry.Variants, v.Name)
		}
		c.Implementations = append(c.Implementations, entry)
	}
	return c, nil
}

// estimate is how long one block of the plan takes.
func estimate(p *plan.Plan) time.Duration {
	var block time.Duration
	for _, t := range p.Scenarios {
		block += question.Find(t.Name).Estimate(t.Parameters)
	}
	block *= time.Duration(len(p.Implementations))
	if installations(p) > 1 && p.Isolation == "parked" {
		block += parking * time.Duration(len(p.Implementations)*len(p.Scenarios))
	}
	return block
}

// installations counts what is measured, without copies.
func installations(p *plan.Plan) int {
	all := map[string]bool{}
	for _, t := range p.Implementations {
		all[t.Installation()] = true
	}
	return len(all)
}

// fit chooses as many repeats as the budget allows.
func fit(p *plan.Plan, budget time.Duration) error {
	block := estimate(p)
	p.Repeats = min(int((budget-setUp)/block), 100)
	if p.Repeats < 1 {
		err := fmt.Errorf("a budget of %s is too short: one block takes about %s, the set-up %s", budget, block.Round(time.Second), setUp)
		return failure.WithCode(failure.Hint(err, "name fewer scenarios, or set fewer routes"), failure.Usage)
	}
	return nil
}

var errNotConfirmed = errors.New("nothing was written: not confirmed")
