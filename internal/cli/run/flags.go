package run

import (
	"errors"
	"fmt"

	"github.com/gatemark/gatemark/image"
	"github.com/spf13/pflag"
)

// conflicts finds what is wrong with the flags, whatever the plan says.
func conflicts(o *options) []error {
	var problems []error
	for _, pair := range [][2]string{{"plan", "profile"}, {"repeats", "budget"}, {"name", "kubeconfig"}, {"name", "context"}} {
		if o.given(pair[0]) && o.given(pair[1]) {
			problems = append(problems, fmt.Errorf("--%s and --%s exclude each other", pair[0], pair[1]))
		}
	}
	// 0 is what a plan says by not saying it; on the command line it was meant.
	if o.given("repeats") && o.repeats == 0 {
		problems = append(problems, errors.New("--repeats 0 would measure nothing"))
	}
	if o.given("budget") && o.budget == 0 {
		problems = append(problems, errors.New("--budget 0 leaves no time to measure"))
	}
	if o.installTimeout <= 0 {
		problems = append(problems, fmt.Errorf("--install-timeout %s leaves no time to install", o.installTimeout))
	}
	if o.budget < 0 {
		problems = append(problems, fmt.Errorf("--budget %s is negative", o.budget))
	}
	if _, err := image.ParseChoice(o.images); err != nil {
		problems = append(problems, fmt.Errorf("--images: %w", err))
	}
	return problems
}

// forResume are the flags that mean something beside --resume: how to reach the
// cluster, and what becomes of the results.
var forResume = map[string]bool{"resume": true, "kubeconfig": true, "context": true, "yes": true, "keep": true, "output": true}

// notForResume finds flags that would have no effect: a run goes on with its
// own plan.
func notForResume(flags *pflag.FlagSet) []error {
	var problems []error
	flags.Visit(func(f *pflag.Flag) {
		if !forResume[f.Name] {
			problems = append(problems, fmt.Errorf("--%s cannot be set with --resume: the run goes on as it was begun", f.Name))
		}
	})
	return problems
}
