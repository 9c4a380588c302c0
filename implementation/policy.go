package implementation

import (
	"fmt"
	"io/fs"

	"github.com/gatemark/gatemark/dialect"
)

// A Policy is what the implementation must be told, in an API of its own, so
// that it does something about backends that fail.
type Policy struct {
	// Name is outlier-detection or health-checks: see dialect.OutlierDetection.
	Name string `json:"name"`
	// Objects are the kinds that it is made of, by group and resource.
	Objects []dialect.Object `json:"objects"`
	// Template is a file of this folder: Kubernetes objects, filled with a
	// dialect.Policed as text/template does.
	Template string `json:"template"`

	text string
}

// Policies are what it can be told.
func (i *Implementation) Policies() []dialect.Policy {
	var all []dialect.Policy
	for _, p := range i.BackendPolicies {
		all = append(all, dialect.Policy{Name: p.Name, Objects: p.Objects, Template: p.text})
	}
	return all
}

func (p *Policy) read(folder fs.FS) error {
	text, err := fs.ReadFile(folder, p.Template)
	p.text = string(text)
	return err
}

func (i *Implementation) validatePolicies(p *problems) {
	seen := map[string]bool{}
	for n, policy := range i.Policies() {
		at := fmt.Sprintf("policies[%d]", n)
		if seen[policy.Name] {
			p.add(at+".name", "%s is there twice", policy.Name)
		}
		seen[policy.Name] = true
		if policy.Template == "" { // of which reading the file has told
			continue
		}
		if err := policy.Check(); err != nil {
			p.add(at, "%v", err)
		}
	}
}
