package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load/attacker"
)

// profiles are tried in this order: the first has io_uring.
var profiles = []corev1.SeccompProfileType{corev1.SeccompProfileTypeUnconfined, corev1.SeccompProfileTypeRuntimeDefault}

// create makes the pods. Where the cluster's policy refuses pods
// without a seccomp profile, they get the container runtime's.
func (p *Pods) create(ctx context.Context) error {
	var refused error
	for _, profile := range profiles {
		objects, err := p.render(profile)
		if err != nil {
			return err
		}
		if err = p.createAll(ctx, objects); err == nil {
			p.Seccomp = profile
			return nil
		}
		refused = errors.Join(refused, fmt.Errorf("with seccomp profile %s: %w", profile, err))
		if !byPolicy(err) || len(p.made) > 0 {
			break // another profile would not help
		}
	}
	return refused
}

// byPolicy reports whether an object was refused for what is in it. Pod
// Security answers 403; admission webhooks answer as they like.
func byPolicy(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

func (p *Pods) render(profile corev1.SeccompProfileType) ([]*unstructured.Unstructured, error) {
	o := &p.options
	objects, err := kube.Render("attacker.yaml", manifest, map[string]any{
		"Name": o.Name, "Namespace": o.Namespace, "Secret": o.Secret, "Image": o.Image, "Pods": p.names(),
		"CPU": o.CPU, "Memory": o.Memory, "Port": Port, "Health": attacker.HealthPath, "Seccomp": profile,
	})
	for _, obj := range objects {
		kube.Own(obj, o.Run, o.Trial)
	}
	return objects, err
}

// createAll creates the pods. To apply one that is there already, and may be
// going, would be to take it for a new one.
func (p *Pods) createAll(ctx context.Context, pods []*unstructured.Unstructured) error {
	for _, pod := range pods {
		if err := p.createPod(ctx, pod); err != nil {
			return err
		}
		p.made = append(p.made, pod.GetName())
	}
	return nil
}

// accountLimit bounds how long a new namespace may lack its service account.
const accountLimit = 20 * time.Second

func (p *Pods) createPod(ctx context.Context, pod *unstructured.Unstructured) error {
	for deadline := time.Now().Add(accountLimit); ; {
		err := kube.Create(ctx, p.options.Kube, pod.DeepCopy())
		if !lacksAccount(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lacksAccount reports whether a pod was refused because the namespace is so
// new that its default service account is not there.
func lacksAccount(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account")
}

// Remove deletes the pods that were made, and waits until they are gone. Attacks
// that run then end with them.
func (p *Pods) Remove(ctx context.Context) error {
	if p.Fleet != nil {
		p.Fleet.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	var problems []error
	for _, name := range p.made {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.options.Namespace, Name: name}}
		if err := client.IgnoreNotFound(p.options.Kube.Delete(ctx, pod)); err != nil {
			problems = append(problems, fmt.Errorf("delete %s: %w", kube.Describe(pod), err))
		}
	}
	if len(problems) > 0 || len(p.made) == 0 {
		return errors.Join(problems...)
	}
	return kube.WaitAll(ctx, p.options.Kube, "the end of the attackers in namespace "+p.options.Namespace, p.selected(), p.gone)
}

func (p *Pods) gone(all []*corev1.Pod) (bool, string) {
	left := slices.DeleteFunc(all, func(pod *corev1.Pod) bool { return !slices.Contains(p.made, pod.Name) })
	return len(left) == 0, fmt.Sprintf("%d are still there", len(left))
}
