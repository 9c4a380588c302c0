package routepropagation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

const (
	// probesPerCPU bounds the probes a second on the kept connections to all
	// replicas of a node, for each of its CPUs. A probe takes both sides about half
	// a millisecond of CPU time; with ten times as many on 2 CPUs, a new route took
	// half as long again.
	probesPerCPU = 300
	// closest is the step where the CPUs suffice.
	closest = time.Millisecond
	// freshSteps is how many times a step probes on new connections are apart.
	freshSteps = 4
)

// pace is the time between two probes of a replica, where they are closest.
type pace struct{ kept, fresh time.Duration }

// findPace takes the steps that are asked for, or those that the nodes of the
// replicas can bear.
func (p *propagation) findPace(ctx context.Context, replicas []kube.Replica) error {
	on := map[string]int{}
	for _, r := range replicas {
		if r.Node != "" {
			on[r.Node]++
		}
	}
	step := closest
	for name, n := range on {
		var node corev1.Node
		if err := p.Kube.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return fmt.Errorf("read node %s: %w", name, err)
		}
		step = max(step, bearable(n, int(node.Status.Capacity.Cpu().Value())))
	}
	p.pace = paceOf(p.Values, step)
	p.Note("Probes of a replica were %s apart on kept connections where they were closest, and %s on new ones.", p.pace.kept, p.pace.fresh)
	return nil
}

// paceOf is what the parameters say, and step where they leave it open.
func paceOf(v scenario.Values, step time.Duration) pace {
	found := pace{kept: v.Duration("step"), fresh: v.Duration("freshStep")}
	if found.kept == 0 {
		found.kept = step
	}
	if found.fresh == 0 {
		found.fresh = freshSteps * found.kept
	}
	return found
}

// tooClose checks the steps, which are 0 where they are left open.
func tooClose(v map[string]any) []error {
	var problems []error
	for _, name := range []string{"step", "freshStep"} {
		if step, ok := v[name].(time.Duration); ok && step > 0 && step < 100*time.Microsecond {
			problems = append(problems, fmt.Errorf("%s %s is neither 0 nor 100µs or longer", name, step))
		}
	}
	return problems
}

// bearable is the step for so many replicas on a node, in whole milliseconds.
func bearable(replicas, cpus int) time.Duration {
	step := time.Duration(replicas) * time.Second / time.Duration(probesPerCPU*max(cpus, 1))
	return max(closest, (step + time.Millisecond - 1).Truncate(time.Millisecond))
}
