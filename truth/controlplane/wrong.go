package controlplane

import (
	"hash/maphash"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/fault"
)

// wrong is where the control plane says and sends what faults want, and what it
// remembers for that.
type wrong struct {
	faults   *fault.Switch
	started  time.Time      // of the first step; zero before it
	arrivals order          // of routes, by their UIDs
	said     order          // of statuses: UIDs of routes with their generations
	peaks    map[string]int // the most routes that a listener had, by its owner's UID and its name
	foreign  uint64         // tells versions of routes that are no business of ours apart
	burden   fault.Burden
}

func newWrong(faults *fault.Switch) *wrong {
	return &wrong{faults: faults, arrivals: order{}, said: order{}, peaks: map[string]int{}}
}

// An order numbers things as they are first seen, from 1 on.
type order map[string]int

func (o order) of(key string) int {
	if o[key] == 0 {
		o[key] = len(o) + 1
	}
	return o[key]
}

// strain is how long the control plane is busy with a change to a route that is
// none of its business.
const strain = time.Second

// work takes the time that routes cost, and looks for such changes.
func (x *wrong) work(w *world) {
	f := x.faults.Now()
	x.burden.Burn(time.Duration(len(w.routes)) * f.CostPerRoute)
	if f.Burn == 0 {
		return
	}
	var sum maphash.Hash
	sum.SetSeed(seed)
	for _, r := range w.routes {
		if !slices.ContainsFunc(r.spec.ParentRefs, func(ref gatewayv1.ParentReference) bool { return w.parent(r.GetNamespace(), ref) != nil }) {
			maphash.WriteComparable(&sum, [2]string{string(r.GetUID()), r.GetResourceVersion()})
		}
	}
	if now := sum.Sum64(); now != x.foreign {
		x.foreign = now
		x.burden.Busy(strain)
	}
}

var seed = maphash.MakeSeed()

// placed is how far a Gateway's data plane is said to be.
func (x *wrong) placed(p Placed) Placed {
	p.Ready = p.Ready || x.faults.Now().ProgrammedEarly
	return p
}

// conclude is what the statuses of a world should be.
func (x *wrong) conclude(w *world) []status {
	x.statuses(w)
	all := w.conclude()
	if !x.faults.Now().NoAddress {
		return all
	}
	for i, s := range all {
		if _, ok := s.object.(*gatewayv1.Gateway); ok {
			all[i].into = func(o client.Object) {
				s.into(o)
				o.(*gatewayv1.Gateway).Status.Addresses = nil
			}
		}
	}
	return all
}

// statuses makes wrong what the statuses say of what was published.
func (x *wrong) statuses(w *world) {
	f := x.faults.Now()
	if f.CeilingSaid {
		w.refuse(f.Ceiling)
	}
	x.counts(w, f)
	if f.TellsEntries() {
		x.entries(w, f)
	}
}

// counts sets what the listeners count.
func (x *wrong) counts(w *world, f fault.Faults) {
	for _, g := range w.gateways {
		for i, l := range g.listeners {
			name := string(l.owner.GetUID()) + "/" + string(l.spec.Name)
			x.peaks[name] = max(x.peaks[name], int(l.attached))
			l.attached = int32(f.Count(i, int(l.attached), x.peaks[name]))
		}
	}
}
