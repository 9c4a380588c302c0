package controlplane

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A verdict is a condition in the making.
type verdict struct {
	ok              bool
	reason, message string
}

func yes(reason string) verdict { return verdict{ok: true, reason: reason} }

func no[R ~string](reason R, message string) verdict {
	return verdict{reason: string(reason), message: message}
}

// condition has no time yet: that depends on what it was before.
func (v verdict) condition(kind string, generation int64) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: v.reason, Message: v.message, ObservedGeneration: generation}
	if v.ok {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// merge lays conditions over those that an object has. Others' conditions stay;
// of ours that may be absent, those that are go.
func merge(has, wanted []metav1.Condition, mayBeAbsent ...string) []metav1.Condition {
	merged := slices.Clone(has)
	for _, c := range wanted {
		meta.SetStatusCondition(&merged, c)
	}
	for _, kind := range mayBeAbsent {
		if meta.FindStatusCondition(wanted, kind) == nil {
			meta.RemoveStatusCondition(&merged, kind)
		}
	}
	return merged
}
