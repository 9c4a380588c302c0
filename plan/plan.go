// Package plan is what was asked for: which scenarios on which
// implementations, with what parameters and how many repeats. A plan is a
// versioned YAML document, decoded strictly; Resolve checks it against the
// catalogue of what there is, reports every problem at once, and fills in
// every default, so that a resolved plan says all that was done.
package plan

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gatemark/gatemark/internal/failure"
	"sigs.k8s.io/yaml"
)

// The header of every plan.
const (
	APIVersion = "gatemark.dev/v1"
	Kind       = "Plan"
)

// A Plan names treatments (implementations) and scenarios. Every scenario is
// tried on every treatment, Repeats times, in randomised interleaved blocks.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Name and Description are for people.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`

	Implementations []Treatment `json:"implementations"`
	Scenarios       []Trial     `json:"scenarios"`
	// Repeats is the number of blocks: 1 to 100.
	Repeats int `json:"repeats,omitempty"`
	// Isolation is how implementations that are not under test are kept from
	// disturbing: parked, coresident or joined.
	Isolation string `json:"isolation,omitempty"`
	// Observe is how often resource use and metrics are read.
	Observe Observe `json:"observe"`
	// Seed orders the trials within blocks. 0 takes one from the clock; the
	// run records which.
	Seed uint64 `json:"seed,omitempty"`
}

// A Trial is a scenario with its parameters.
type Trial struct {
	Name string `json:"name"`
	// Variant distinguishes several uses of one scenario in a plan.
	Variant    string         `json:"variant,omitempty"`
	Parameters map[string]any `json:"parameters,omitempty"`
}

// String is NAME or NAME/VARIANT.
func (t Trial) String() string { return Treatment{Name: t.Name, Variant: t.Variant}.String() }

// Decode reads one plan from YAML. Unknown fields, duplicate keys and a wrong
// header are errors.
func Decode(data []byte) (*Plan, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, failure.WithCode(errors.New("the plan is empty"), failure.Usage)
	}
	p := new(Plan)
	if err := yaml.UnmarshalStrict(data, p); err != nil {
		return nil, failure.WithCode(decodeError(err), failure.Usage)
	}
	return p, nil
}

// decodeError strips the decoder's own prefixes; what is left names the field.
func decodeError(err error) error {
	text := err.Error()
	for _, prefix := range []string{"error unmarshaling JSON: ", "while decoding JSON: ", "error converting YAML to JSON: ", "json: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return errors.New(text)
}

//go:embed profile/*.yaml
var profiles embed.FS

// Profiles lists the built-in plans.
func Profiles() []string {
	entries, err := fs.ReadDir(profiles, "profile")
	if err != nil {
		panic(err) // embedded: cannot happen in a program that was built
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Profile returns a built-in plan.
func Profile(name string) (*Plan, error) {
	data, err := profiles.ReadFile(path.Join("profile", name+".yaml"))
	if err != nil {
		err = failure.Hint(fmt.Errorf("no profile %q", name), "profiles: "+strings.Join(Profiles(), ", "))
		return nil, failure.WithCode(err, failure.Usage)
	}
	return Decode(data)
}

// JSON is the plan as it goes into a result.
func (p *Plan) JSON() (json.RawMessage, error) { return json.Marshal(p) }
