// Package fleet runs attackers as pods, spread over the nodes of a cluster, that
// attack as one: the cluster is the distributed engine.
package fleet

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load/attacker"
)

//go:embed attacker.yaml
var manifest string

// Options say which attackers there are to be.
type Options struct {
	Kube *kube.Client
	// Namespace must exist. Run and Trial label what is made in it.
	Namespace, Run, Trial string
	// Name is what the pods' names begin with. Default "attacker".
	Name string
	// Image has gatemark as its entry point.
	Image string
	// Token is what the attackers answer to, and Secret the name of the Secret in
	// Namespace that has it under "token": the runner's own, so that starting
	// attackers takes no right on Secrets.
	Token, Secret string
	// Attackers is how many there are to be.
	Attackers int
	// CPU and Memory are what each requests, as Kubernetes writes quantities.
	// Default "250m" and "128Mi".
	CPU, Memory string
	// Fleet is how the attackers are spoken to.
	Fleet attacker.FleetOptions
}

func (o *Options) setDefaults() error {
	for _, d := range []struct {
		to    *string
		value string
	}{{&o.Name, "attacker"}, {&o.CPU, "250m"}, {&o.Memory, "128Mi"}} {
		if *d.to == "" {
			*d.to = d.value
		}
	}
	switch {
	case o.Attackers < 1:
		return fmt.Errorf("%d attackers are none", o.Attackers)
	case o.Token == "" || o.Secret == "":
		return errors.New("attackers need a token, and a Secret that has it")
	}
	return nil
}

// Port is where attackers are told what to do.
const Port = 8089

// readyLimit bounds how long the pods may take to be ready.
const readyLimit = 2 * time.Minute

// removeLimit bounds how long they may take to be gone.
const removeLimit = time.Minute

// Pods are attackers that run. They attack as the Fleet tells them.
type Pods struct {
	*attacker.Fleet
	// Seccomp is the profile that the pods were allowed: with Unconfined the
	// kernel decides whether there is io_uring, and otherwise the container
	// runtime, which mostly forbids it. Results say which engine it came to.
	Seccomp corev1.SeccompProfileType

	options Options
	made    []string // names of pods
}

// Start makes the pods, waits until all are ready, and greets the attackers in
// them. What it made is removed again if that fails.
func Start(ctx context.Context, o Options) (*Pods, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	p := &Pods{options: o}
	err := p.create(ctx)
	var members []attacker.Member
	if err == nil {
		members, err = p.ready(ctx)
	}
	if err == nil {
		p.Fleet, err = attacker.NewFleet(ctx, o.Token, members, o.Fleet)
	}
	if err != nil {
		// The context may be why.
		return nil, errors.Join(fmt.Errorf("start %d attackers: %w", o.Attackers, err), p.Remove(context.WithoutCancel(ctx)))
	}
	return p, nil
}

func (p *Pods) names() []string {
	names := make([]string, p.options.Attackers)
	for i := range names {
		names[i] = p.options.Name + "-" + strconv.Itoa(i)
	}
	return names
}

func (p *Pods) selected() []client.ListOption {
	return []client.ListOption{client.InNamespace(p.options.Namespace), client.MatchingLabels{"app": p.options.Name}}
}

// ready waits for the pods, and returns where the attackers are.
func (p *Pods) ready(ctx context.Context) ([]attacker.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var pods map[string]*corev1.Pod
	var broken error
	what := fmt.Sprintf("%d attackers in namespace %s", p.options.Attackers, p.options.Namespace)
	err := kube.WaitAll(ctx, p.options.Kube, what, p.selected(), func(all []*corev1.Pod) (bool, string) {
		pods = map[string]*corev1.Pod{}
		words := ""
		for _, pod := range all {
			if ended(pod) {
				broken = fmt.Errorf("pod %s ended before it was ready: %s", pod.Name, state(pod))
				return true, ""
			}
			if isReady(pod) {
				pods[pod.Name] = pod
			} else if words == "" {
				words = fmt.Sprintf("; %s: %s", pod.Name, state(pod))
			}
		}
		return len(pods) == p.options.Attackers, fmt.Sprintf("%d ready%s", len(pods), words)
	})
	if err = errors.Join(err, broken); err != nil {
		return nil, err
	}
	members := make([]attacker.Member, 0, len(pods))
	for _, name := range p.names() {
		pod := pods[name]
		if pod == nil {
			return nil, fmt.Errorf("pod %s is not among those with label app=%s", name, p.options.Name)
		}
		members = append(members, attacker.Member{
			Name: name, Node: pod.Spec.NodeName, Address: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(Port)),
		})
	}
	return members, nil
}

func ended(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func isReady(pod *corev1.Pod) bool {
	if pod.Status.PodIP == "" {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// state is what keeps a pod from being ready, in the cluster's words.
func state(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Message != "" {
			return w.Reason + ": " + w.Message
		}
		if ended := c.State.Terminated; ended != nil {
			return fmt.Sprintf("%s with exit code %d", ended.Reason, ended.ExitCode)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Status != corev1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	return string(pod.Status.Phase)
}
