package scenario

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/measure/audit"
	"github.com/gatemark/gatemark/measure/history"
	"github.com/gatemark/gatemark/result"
)

// auditLimit bounds the reading of the audit log after a trial.
const auditLimit = time.Minute

// StatusWrites counts who wrote which status: from the API server's audit log,
// or, where there is none, from what changed.
type StatusWrites struct {
	Trial    *Trial
	position audit.Position
	began    time.Time

	// controllers are whose each Gateway of the trial is, by its name.
	controllers map[string]string

	inference *audit.Inference
	watchers  []*history.Watcher
}

// WatchStatusWrites follows who writes statuses; controllers are whose each
// Gateway of the trial is, by its name.
func WatchStatusWrites(ctx context.Context, t *Trial, controllers map[string]string) (*StatusWrites, error) {
	w := &StatusWrites{Trial: t, began: time.Now(), controllers: controllers}
	if t.AuditLog != "" {
		var err error
		w.position, err = audit.Mark(t.AuditLog)
		return w, err
	}
	t.Note("This cluster has no audit log that can be read: who wrote a status is inferred from what changed, and writes that changed nothing are not seen.")
	w.inference = audit.NewInference(audit.Options{Since: w.began, ControllerOf: w.controllerOf})
	for resource, gvk := range map[string]schema.GroupVersionKind{
		"gateways":     gatewayv1.SchemeGroupVersion.WithKind("Gateway"),
		"httproutes":   gatewayv1.SchemeGroupVersion.WithKind("HTTPRoute"),
		"listenersets": gatewayv1.SchemeGroupVersion.WithKind("ListenerSet"),
	} {
		if _, err := t.Kube.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(err) {
			continue // older definitions have no ListenerSets
		}
		watcher, err := history.Start(ctx, t.Kube, gvk, history.Options{Namespace: t.Namespace}, w.inference.Record(resource))
		if err != nil {
			w.Stop()
			return nil, err
		}
		w.watchers = append(w.watchers, watcher)
	}
	return w, nil
}

// controllerOf is whose a Gateway is: those of the trial's namespace are known.
func (w *StatusWrites) controllerOf(namespace, name string) (string, bool) {
	controller, known := w.controllers[name]
	return controller, known && namespace == w.Trial.Namespace
}

// Stop ends the watch.
func (w *StatusWrites) Stop() {
	for _, watcher := range w.watchers {
		watcher.Stop()
	}
}

// Report adds the writes of the window that ends now to the trial. routes is
// how many routes were created and deleted in it. Where the routes are attached
// to Gateways of several implementations, the metrics are of what the one under
// test wrote.
func (w *StatusWrites) Report(ctx context.Context, routes int) (audit.Report, error) {
	r, err := w.read(ctx)
	if err != nil {
		return r, Invalid{err}
	}
	t := w.Trial
	under := func(audit.Writer) bool { return true }
	if len(w.controllers) > 1 {
		under = func(writer audit.Writer) bool { return writer.Name == r.Owners[t.Target.ControllerName] }
	}
	gateways, https := r.By(under, "gateways"), r.By(under, "httproutes")
	t.Metric("gateway-writes", result.Count("Status writes to the Gateway", gateways.Writes).Lower())
	t.Metric("route-writes", result.Count("Status writes to routes", https.Writes).Lower())
	t.Metric("writes-per-route", result.Value("Status writes for each route that came and went", "1", float64(gateways.Writes+https.Writes)/float64(routes)).Lower())
	total := r.By(under, "")
	t.Metric("write-conflicts", result.Count("Status writes refused because the object had changed", total.Conflicts).Lower())
	if !r.Inferred {
		t.Metric("write-noops", result.Count("Status writes that changed nothing", total.NoOps).Lower())
	}
	t.Result.Tables = append(t.Result.Tables, writersTable(r))
	t.Result.Findings = append(t.Result.Findings, r.Findings(t.Result.Scenario)...)
	w.Find(r, under, routes)
	// The creation of every route by ourselves is in the log too: none of it
	// there means that the log is not the one of this cluster.
	if !r.Inferred {
		t.Gate("audit-missing", "writes of our own that the audit log does not show", "1", float64(max(0, routes-r.OtherWrites)), 0)
	}
	t.Gate("audit-readable", "lines of the audit log that could not be understood", "1", float64(r.Malformed), 0)
	return r, nil
}

func (w *StatusWrites) read(ctx context.Context) (audit.Report, error) {
	if w.inference != nil {
		w.Stop()
		return w.inference.Report(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, auditLimit)
	defer cancel()
	return audit.Read(ctx, w.position, audit.Options{
		Since: w.began, Until: time.Now(), Namespace: w.Trial.Namespace, ControllerOf: w.controllerOf,
	})
}

func writersTable(r audit.Report) result.Table {
	table := result.Table{
		Name: "writers", Title: "Status writes, by who made them",
		Columns: []string{"writer", "changed entries of", "kind", "writes", "changed nothing", "conflicts", "errors"},
	}
	if r.Inferred {
		table.Title += " (inferred)"
	}
	for _, writer := range r.Writers {
		var kinds []string
		for kind := range writer.Kinds {
			kinds = append(kinds, kind)
		}
		sort.Strings(kinds)
		for _, kind := range kinds {
			c := writer.Kinds[kind]
			row := []string{strings.TrimPrefix(writer.Name, "system:serviceaccount:"), strings.Join(writer.Controllers, ", "), kind}
			for _, n := range []int{c.Writes, c.NoOps, c.Conflicts, c.Errors} {
				row = append(row, fmt.Sprint(n))
			}
			table.Rows = append(table.Rows, row)
		}
	}
	return table
}
