package implementations

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/kube"
)

// checkChart renders the chart, and looks in it for what the description says
// of the control plane.
func checkChart(ctx context.Context, i *implementation.Implementation, found *lines) {
	text, err := install.Render(ctx, i, i.Values())
	if err != nil {
		found.bad("chart", "%v", err)
		return
	}
	objects, err := kube.Decode(strings.NewReader(text))
	if err != nil {
		found.bad("chart", "what it renders cannot be read: %v", err)
		return
	}
	found.good("chart", "renders %d objects", len(objects))
	for _, w := range i.ControlPlane.Workloads {
		checkWorkload(objects, i, w, found)
	}
}

// checkWorkload finds a workload of the control plane among a chart's objects,
// and holds its pods against the selector.
func checkWorkload(objects []*unstructured.Unstructured, i *implementation.Implementation, w implementation.Workload, found *lines) {
	what := "controlPlane.workloads " + w.Kind + " " + w.Name
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == w.Kind && o.GetName() == w.Name })
	if at < 0 {
		var there []string
		for _, o := range objects {
			if slices.Contains([]string{"Deployment", "DaemonSet", "StatefulSet"}, o.GetKind()) {
				there = append(there, o.GetKind()+" "+o.GetName())
			}
		}
		found.bad(what, "the chart renders no such object, but %q", there)
		return
	}
	has, _, err := unstructured.NestedStringMap(objects[at].Object, "spec", "template", "metadata", "labels")
	if err != nil {
		found.bad(what, "labels of its pods: %v", err)
		return
	}
	if want := labels.SelectorFromSet(i.ControlPlane.Selector); !want.Matches(labels.Set(has)) {
		found.bad(what, "its pods have the labels %s, which controlPlane.selector %s does not match", labels.Set(has), want)
		return
	}
	found.good(what, "is in the chart, and controlPlane.selector matches its pods")
}
