package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/question"
)

// A Config is all that the runner in the cluster is told.
type Config struct {
	RunID     string                     `json:"runID"`
	Namespace string                     `json:"namespace"`
	Plan      *plan.Plan                 `json:"plan"`
	Schedule  []result.TrialRef          `json:"schedule"`
	Targets   map[string]scenario.Target `json:"targets"`
	// Installed is what the run installed, and may set aside, by the treatment
	// without its copy.
	Installed map[string]park.Installation `json:"installed,omitempty"`
	EchoImage string                       `json:"echoImage"`
	// AuditLog is the path of the API server's audit log in the runner's pod,
	// or "" where there is none.
	AuditLog string `json:"auditLog,omitempty"`
	// Kubelets says that resource use is read from the kubelets' own statistics,
	// because pods may not look at their nodes.
	Kubelets bool `json:"kubelets,omitempty"`
	// Finished are the attempts that the user's machine has already, by name:
	// a runner that takes over from a lost one does not repeat them.
	Finished map[string]result.Outcome `json:"finished,omitempty"`
}

// ReadConfig reads a runner's configuration.
func ReadConfig(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the runner's configuration: %w", err)
	}
	c := new(Config)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("read the runner's configuration %s: %w", path, err)
	}
	return c, nil
}

// parameters returns the resolved parameters of a trial.
func (c *Config) parameters(ref result.TrialRef) (scenario.Values, error) {
	for _, s := range c.Plan.Scenarios {
		if s.Name == ref.Scenario && s.Variant == ref.Variant {
			return s.Parameters, nil
		}
	}
	return nil, fmt.Errorf("trial %s: its scenario is not in the plan", ref.ID)
}

// Rights are what the plan's scenarios, and the dialects and policies of its
// implementations, take of the runner beyond what every trial does, as JSON.
func (c *Config) Rights() ([]string, error) {
	var all []string
	add := func(of string, rule rbacv1.PolicyRule) error {
		text, err := json.Marshal(rule)
		if err != nil {
			return fmt.Errorf("rights of %s: %w", of, err)
		}
		if !slices.Contains(all, string(text)) {
			all = append(all, string(text))
		}
		return nil
	}
	for _, treatment := range slices.Sorted(maps.Keys(c.Targets)) {
		target := c.Targets[treatment]
		var objects []dialect.Object
		if target.Dialect != nil {
			objects = target.Dialect.Objects
		}
		for _, policy := range target.Policies {
			if c.asksFor(policy.Name) {
				objects = append(objects, policy.Objects...)
			}
		}
		for _, o := range objects {
			rule := rbacv1.PolicyRule{APIGroups: []string{o.Group}, Resources: []string{o.Resource}, Verbs: []string{"get", "create", "update", "patch", "delete"}}
			if err := add(treatment, rule); err != nil {
				return nil, err
			}
		}
	}
	if c.Plan == nil {
		return all, nil
	}
	for _, of := range c.Plan.Scenarios {
		s := question.Find(of.Name)
		if s == nil || s.Rights == nil {
			continue
		}
		for _, rule := range s.Rights(scenario.Values(of.Parameters)) {
			if err := add(of.Name, rule); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// asksFor tells whether a scenario of the plan is to be measured with a policy.
func (c *Config) asksFor(policy string) bool {
	return c.Plan != nil && slices.ContainsFunc(c.Plan.Scenarios, func(t plan.Trial) bool { return t.Parameters["policy"] == policy })
}
