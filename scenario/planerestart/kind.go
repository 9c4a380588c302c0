package planerestart

import (
	"context"
	"slices"
	"time"

	"github.com/gatemark/gatemark/scenario"
)

// control is the kind in which nothing happens.
const control = "none"

// A kind is what happens to the gateway, in one step or in several that follow
// each other again and again.
type kind struct {
	name string
	// plane is the one that it happens to; empty for the control.
	plane plane
	// changes: routes are changed right after each event.
	changes bool
	// replicas is how many pods the data plane is to have before the first
	// event; 0 leaves it as it is.
	replicas int64
	steps    []step
	// lasts is how long a step takes on a small machine.
	lasts time.Duration
}

// A plane of an implementation.
type plane string

const (
	controlPlane plane = "control plane"
	dataPlane    plane = "data plane"
)

// A step is one thing that happens. Metrics, findings and rows have its name.
type step struct {
	name string
	// title ends a sentence that begins with "while".
	title string
	act   func(ctx context.Context, p *plant) error
	// ends: pods of the data plane end, and with them what they hold open.
	ends bool
	// cut is how long errors may follow each other before they are held against
	// the gateway: what is killed cannot say goodbye.
	cut time.Duration
}

// killCut is what a killed pod may cost: connections to it are lost, until the
// cluster sends new ones elsewhere.
const killCut = time.Second

// kinds lists all, in the order in which they take place.
func kinds() []*kind {
	one := func(k kind, s step) *kind {
		s.name = k.name
		k.steps = []step{s}
		return &k
	}
	scale := func(from, to int64, name, title string) step {
		return step{name: name, title: title, ends: to < from, act: func(ctx context.Context, p *plant) error { return p.scale(ctx, to) }}
	}
	return []*kind{
		one(kind{name: control, changes: true}, step{title: "nothing happened", act: func(context.Context, *plant) error { return nil }}),
		one(kind{name: "control-restart", plane: controlPlane, changes: true, lasts: 10 * time.Second}, step{title: "the control plane was restarted", act: restart}),
		one(kind{name: "control-kill", plane: controlPlane, changes: true, lasts: 10 * time.Second}, step{title: "the control plane was killed", act: killAll}),
		one(kind{name: "data-restart", plane: dataPlane, lasts: time.Minute}, step{title: "the data plane was restarted, in the way that its workload says", ends: true, act: restart}),
		one(kind{name: "data-kill", plane: dataPlane, lasts: 10 * time.Second}, step{title: "a pod of the data plane was killed", ends: true, cut: killCut, act: killOne}),
		{name: "scale-1-2-1", plane: dataPlane, replicas: 1, lasts: 30 * time.Second, steps: []step{
			scale(1, 2, "scale-1-2", "the data plane was scaled from 1 pod to 2"), scale(2, 1, "scale-2-1", "the data plane was scaled from 2 pods to 1"),
		}},
		{name: "scale-3-2-3", plane: dataPlane, replicas: 3, lasts: 30 * time.Second, steps: []step{
			scale(3, 2, "scale-3-2", "the data plane was scaled from 3 pods to 2"), scale(2, 3, "scale-2-3", "the data plane was scaled from 2 pods to 3"),
		}},
	}
}

func names() []string {
	var all []string
	for _, k := range kinds() {
		all = append(all, k.name)
	}
	return all
}

// chosen are the kinds that the parameters name, in the order in which they
// take place.
func chosen(v scenario.Values) []*kind {
	wanted := v.List("kinds", names())
	return slices.DeleteFunc(kinds(), func(k *kind) bool { return !slices.Contains(wanted, k.name) })
}
