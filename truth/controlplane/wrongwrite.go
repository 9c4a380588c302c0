package controlplane

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/fault"
)

// stepsTo lists what is written to bring an object's status from what it is to
// what it should be: that alone, were it not for faults.
func stepsTo(f fault.Faults, now, wanted client.Object) []client.Object {
	var steps []client.Object
	if f.CountPerWrite {
		steps = countOneByOne(now, wanted)
	}
	steps = append(steps, wanted)
	for range f.NoopWrites {
		steps = append(steps, wanted.DeepCopyObject().(client.Object))
	}
	return steps
}

// countOneByOne lists the statuses between two, in which the listeners of a
// Gateway count one route more or fewer each time.
func countOneByOne(now, wanted client.Object) []client.Object {
	from, ok := now.(*gatewayv1.Gateway)
	if !ok {
		return nil
	}
	to := wanted.(*gatewayv1.Gateway)
	counted := map[gatewayv1.SectionName]int32{}
	for _, l := range from.Status.Listeners {
		counted[l.Name] = l.AttachedRoutes
	}
	var steps []client.Object
	for n := int32(1); ; n++ {
		step, last := to.DeepCopy(), true
		for i := range step.Status.Listeners {
			l := &step.Status.Listeners[i]
			had, want := counted[l.Name], l.AttachedRoutes
			l.AttachedRoutes = min(max(want, had-n), had+n)
			last = last && l.AttachedRoutes == want
		}
		if last {
			return steps
		}
		steps = append(steps, step)
	}
}
