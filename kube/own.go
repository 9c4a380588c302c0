package kube

import (
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The labels of every object that gatemark makes. Nothing without OwnerLabel
// is ever deleted.
const (
	OwnerLabel = "gatemark.dev/owner"
	RunLabel   = "gatemark.dev/run"
	TrialLabel = "gatemark.dev/trial"

	// Owner is the value of OwnerLabel.
	Owner = "gatemark"
	// FieldManager is who writes, in an object's managedFields.
	FieldManager = "gatemark"
)

// Own labels obj as gatemark's, of a run and a trial where they are not empty.
func Own(obj client.Object, run, trial string) {
	all := obj.GetLabels()
	if all == nil {
		all = map[string]string{}
	}
	for name, value := range OwnedBy(run, trial) {
		all[name] = value
	}
	obj.SetLabels(all)
}

// OwnedBy is the set of labels that Own sets, which also selects them: of a
// trial, of a run, or of everything that gatemark made.
func OwnedBy(run, trial string) labels.Set {
	set := labels.Set{OwnerLabel: Owner}
	if run != "" {
		set[RunLabel] = run
	}
	if trial != "" {
		set[TrialLabel] = trial
	}
	return set
}

// Owned reports whether gatemark made obj.
func Owned(obj client.Object) bool { return obj.GetLabels()[OwnerLabel] == Owner }
