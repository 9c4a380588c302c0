package attachedroutes

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/audit"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed rival.yaml
var rivalManifest string

// Joined is the isolation in which each route names the Gateway of every
// implementation of the run.
const joined = "joined"

// A rival is another implementation of the run, to whose Gateway the routes
// are attached too. It is watched by itself: nobody's pace is another's.
type rival struct {
	target  scenario.Target
	gateway string
	counts  *attachedCounts
	status  *scenario.RouteStatus
	// up and down are when its listeners counted right for good.
	up, down []time.Time
}

// addRivals makes the Gateways of the other implementations. One that does not
// get ready takes no part.
func (a *attachment) addRivals(ctx context.Context) error {
	if a.Isolation != joined {
		return nil
	}
	own := a.gatewayListeners()
	for _, other := range a.Others {
		if other.GatewayClass == "" {
			continue // it has no Gateways
		}
		r := &rival{target: other, gateway: scenario.RivalGateway(other.Treatment)}
		a.Progress("waiting for the Gateway of %s", other.Treatment)
		err := a.Apply(ctx, "rival.yaml", rivalManifest, map[string]any{
			"Name": r.gateway, "Namespace": a.Namespace, "GatewayClass": other.GatewayClass, "Listeners": own,
		})
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
		waiting, cancel := context.WithTimeout(ctx, scenario.StageLimit)
		_, err = kube.WaitGateway(waiting, a.Kube, client.ObjectKey{Namespace: a.Namespace, Name: r.gateway})
		cancel()
		if ctx.Err() != nil {
			return scenario.Invalid{Reason: ctx.Err()}
		}
		if err != nil {
			a.Note("The Gateway of %s did not get ready, so that it takes no part: %v.", other.Treatment, err)
			continue
		}
		a.rivals = append(a.rivals, r)
	}
	return nil
}

// gatewayListeners are those of the Gateway itself.
func (a *attachment) gatewayListeners() []scenario.Listener {
	return slices.DeleteFunc(slices.Clone(a.listeners), func(l scenario.Listener) bool { return l.Set != "" })
}

// watchRivals begins to watch every rival's counts and statuses.
func (a *attachment) watchRivals(ctx context.Context) error {
	for _, r := range a.rivals {
		var err error
		if r.counts, err = watchCounts(ctx, a.Trial, r.gateway, a.gatewayListeners()); err != nil {
			return scenario.Invalid{Reason: err}
		}
		if r.status, err = scenario.WatchRouteStatus(ctx, a.Trial, scenario.HTTPRoute, r.target.ControllerName, 1); err != nil {
			return scenario.Invalid{Reason: err}
		}
	}
	return nil
}

func (a *attachment) stopRivals() {
	for _, r := range a.rivals {
		if r.counts != nil {
			r.counts.stop()
		}
		if r.status != nil {
			r.status.Stop()
		}
	}
}

// settleAll waits until everybody counts right, each by itself.
func (a *attachment) settleAll(ctx context.Context, p *phase) {
	limit, hold := a.Values.Duration("limit"), a.Values.Duration("hold")
	var others sync.WaitGroup
	for _, r := range a.rivals {
		others.Go(func() {
			reached := r.counts.settle(ctx, p.want, limit, hold, func(string, ...any) {})
			if p.want == 0 {
				r.down = reached
			} else {
				r.up = reached
			}
		})
	}
	p.reached = a.counts.settle(ctx, p.want, limit, hold, a.Progress)
	others.Wait()
}

// controllers are whose each Gateway of the trial is, by its name.
func (a *attachment) controllers() map[string]string {
	all := map[string]string{scenario.GatewayName: a.Target.ControllerName}
	for _, r := range a.rivals {
		all[r.gateway] = r.target.ControllerName
	}
	return all
}

// An entryCount is how many status entries of routes a controller has.
type entryCount struct {
	entries, duplicates int
	// misplaced are about parents that are another's.
	misplaced int
}

// countEntries counts the entries of every controller. owners are whose each
// Gateway is.
func countEntries(routes []gatewayv1.HTTPRoute, owners map[string]string) map[string]entryCount {
	counts := map[string]entryCount{}
	for i := range routes {
		type place struct{ controller, kind, name string }
		seen := map[place]bool{}
		for _, parent := range routes[i].Status.Parents {
			controller := string(parent.ControllerName)
			c := counts[controller]
			c.entries++
			kind := "Gateway"
			if parent.ParentRef.Kind != nil {
				kind = string(*parent.ParentRef.Kind)
			}
			at := place{controller, kind, string(parent.ParentRef.Name)}
			if seen[at] {
				c.duplicates++
			}
			seen[at] = true
			if owner, known := owners[at.name]; kind == "Gateway" && known && owner != controller {
				c.misplaced++
			}
			counts[controller] = c
		}
	}
	return counts
}

// readEntries reads the routes as they are and counts their entries.
func (a *attachment) readEntries(ctx context.Context) error {
	var routes gatewayv1.HTTPRouteList
	if err := a.Kube.List(ctx, &routes, client.InNamespace(a.Namespace)); err != nil {
		return scenario.Invalid{Reason: err}
	}
	a.entries = countEntries(routes.Items, a.controllers())
	return nil
}

// entriesTable has a row for each controller that has entries.
func (a *attachment) entriesTable() {
	if len(a.entries) == 0 {
		return
	}
	table := result.Table{Name: "entries", Title: "Status entries of the routes, when all of them were there",
		Columns: []string{"controller", "entries", "routes", "several for one parent", "for others' Gateways"}}
	for _, name := range slices.Sorted(maps.Keys(a.entries)) {
		c := a.entries[name]
		table.Rows = append(table.Rows, []string{name, strconv.Itoa(c.entries), strconv.Itoa(len(a.up.sent)), strconv.Itoa(c.duplicates), strconv.Itoa(c.misplaced)})
	}
	a.Result.Tables = append(a.Result.Tables, table)
}

// joinedTable has a row for each implementation, each by its own clock.
func (a *attachment) joinedTable(r audit.Report) {
	if len(a.rivals) == 0 {
		return
	}
	table := result.Table{Name: "joined", Title: "Every implementation whose Gateway the routes name",
		Columns: []string{"implementation", "counts right, up", "counts right, down", "every route accepted", "status writes to Gateways", "to routes", "conflicts", "changed nothing"}}
	row := func(t scenario.Target, up, down []time.Time, status *scenario.RouteStatus) {
		c, gateways, routes := audit.Counts{}, audit.Counts{}, audit.Counts{}
		if writer, known := r.Owners[t.ControllerName]; known {
			own := func(w audit.Writer) bool { return w.Name == writer }
			c, gateways, routes = r.By(own, ""), r.By(own, "gateways"), r.By(own, "httproutes")
		}
		noOps := strconv.Itoa(c.NoOps)
		if r.Inferred {
			noOps = ""
		}
		table.Rows = append(table.Rows, []string{t.Treatment, since(complete(up), a.up.began()), since(complete(down), a.down.began()),
			since(a.allAccepted(status), a.up.began()), strconv.Itoa(gateways.Writes), strconv.Itoa(routes.Writes), strconv.Itoa(c.Conflicts), noOps})
	}
	row(a.Target, a.up.reached, a.down.reached, a.status)
	rivals := slices.SortedFunc(slices.Values(a.rivals), func(x, y *rival) int { return cmp.Compare(x.target.Treatment, y.target.Treatment) })
	for _, other := range rivals {
		row(other.target, other.up, other.down, other.status)
	}
	a.Result.Tables = append(a.Result.Tables, table)
}

// allAccepted is since when the status of every route is current; zero where
// one's is not.
func (a *attachment) allAccepted(status *scenario.RouteStatus) time.Time {
	current := a.current(status)
	var last time.Time
	for i := range a.up.sent {
		at, ok := current[attachedName(i)]
		if !ok {
			return time.Time{}
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// since is a time in a table's words.
func since(at, from time.Time) string {
	switch {
	case at.IsZero():
		return "never"
	case at.Before(from):
		return "before the first write"
	}
	return fmt.Sprintf("%.3f s", at.Sub(from).Seconds())
}
