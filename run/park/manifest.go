package park

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
)

// Label marks a ConfigMap as a restore manifest; its value is the
// implementation's name.
const Label = "gatemark.dev/parked"

// manifestKey holds the lines of a manifest, as JSON.
const manifestKey = "workloads.json"

// A line says what a workload was before it was set aside.
type line struct {
	kube.WorkloadRef
	UID types.UID `json:"uid"`
	// Replicas is 0 for a DaemonSet, which has no such number.
	Replicas int64 `json:"replicas,omitempty"`
}

// with returns the lines after running workloads were noted. A workload that
// runs is told anew, whatever its line said: it was brought back since, and
// may have been changed. The lines of those that are stopped stay.
func with(lines []line, running []kube.Workload) []line {
	lines = slices.Clone(lines)
	for _, w := range running {
		now := line{WorkloadRef: w.Ref(), UID: w.GetUID(), Replicas: w.Replicas()}
		at := slices.IndexFunc(lines, func(l line) bool { return l.WorkloadRef == now.WorkloadRef })
		if at < 0 {
			lines = append(lines, now)
		} else {
			lines[at] = now
		}
	}
	return lines
}

func (p *Parker) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: p.Namespace, Name: "parked-" + name}
}

// note writes what workloads are into the installation's manifest.
func (p *Parker) note(ctx context.Context, name string, running []kube.Workload) error {
	manifest := &corev1.ConfigMap{}
	err := p.Kube.Get(ctx, p.key(name), manifest)
	fresh := apierrors.IsNotFound(err)
	if err != nil && !fresh {
		return fmt.Errorf("read the restore manifest: %w", err)
	}
	lines, err := linesOf(manifest)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(with(lines, running), "", "  ")
	if err != nil {
		return err
	}
	manifest.Name, manifest.Namespace = p.key(name).Name, p.Namespace
	kube.Own(manifest, p.Run, "")
	manifest.Labels[Label] = name
	manifest.Data = map[string]string{manifestKey: string(data)}
	if fresh {
		err = p.Kube.Create(ctx, manifest)
	} else {
		err = p.Kube.Update(ctx, manifest)
	}
	if err != nil {
		return fmt.Errorf("write the restore manifest: %w", err)
	}
	return nil
}

func linesOf(manifest *corev1.ConfigMap) ([]line, error) {
	text := manifest.Data[manifestKey]
	if text == "" {
		return nil, nil
	}
	var lines []line
	if err := json.Unmarshal([]byte(text), &lines); err != nil {
		return nil, fmt.Errorf("restore manifest %s/%s: %w", manifest.Namespace, manifest.Name, err)
	}
	return lines, nil
}
