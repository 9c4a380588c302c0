package fleet

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/internal/kubetest"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load/attacker"
)

// On a real API server, with its own admission, and a test in the kubelet's
// place.
func TestOnAnAPIServer(t *testing.T) {
	c, _ := kubetest.Start(t)
	t.Run("free", func(t *testing.T) { testPolicy(t, c, "free", "privileged", corev1.SeccompProfileTypeUnconfined) })
	t.Run("restricted", func(t *testing.T) { testPolicy(t, c, "strict", "restricted", corev1.SeccompProfileTypeRuntimeDefault) })
	t.Run("a pod that ends", func(t *testing.T) { testBroken(t, c) })
	t.Run("a name that is taken", func(t *testing.T) { testTaken(t, c) })
}

// testPolicy runs a fleet in a namespace with a Pod Security level.
func testPolicy(t *testing.T, c *kube.Client, namespace, level string, want corev1.SeccompProfileType) {
	o := optionsIn(t, c, namespace, level)
	play(t, c, namespace, func(i int, pod *corev1.Pod) {
		ip := "127.0.7." + strconv.Itoa(i+1)
		serve(t, ip)
		pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if p.Seccomp != want {
		t.Errorf("seccomp profile %s, want %s", p.Seccomp, want)
	}
	pods := podsIn(t, c, namespace)
	for _, pod := range pods {
		container := pod.Spec.Containers[0]
		if got := container.SecurityContext.SeccompProfile.Type; got != want {
			t.Errorf("pod %s has seccomp profile %s", pod.Name, got)
		}
		if pod.Labels[kube.RunLabel] != "r1" || pod.Labels[kube.TrialLabel] != "t1" || !kube.Owned(&pod) {
			t.Errorf("pod %s has labels %v", pod.Name, pod.Labels)
		}
		if strings.Contains(strings.Join(container.Args, " "), o.Token) || container.Env[0].Value != "" {
			t.Errorf("pod %s shows its token", pod.Name)
		}
		if from := container.Env[0].ValueFrom.SecretKeyRef; from.Name != "runner" || from.Key != "token" {
			t.Errorf("pod %s has its token from %+v", pod.Name, from)
		}
	}
	if len(pods) != 3 {
		t.Errorf("%d pods", len(pods))
	}
	if err := p.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := podsIn(t, c, namespace); len(left) != 0 {
		t.Errorf("%d pods are left", len(left))
	}
}

func testBroken(t *testing.T, c *kube.Client) {
	o := optionsIn(t, c, "broken", "privileged")
	play(t, c, "broken", func(i int, pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "attacker", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137},
		}}}
	})
	_, err := Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "OOMKilled with exit code 137") {
		t.Errorf("error %v", err)
	}
	if left := podsIn(t, c, "broken"); len(left) != 0 {
		t.Errorf("%d pods are left", len(left))
	}
}

// testTaken: attackers of somebody else are neither used nor removed.
func testTaken(t *testing.T, c *kube.Client) {
	o := optionsIn(t, c, "taken", "privileged")
	first := &Pods{options: o}
	if err := first.options.setDefaults(); err != nil {
		t.Fatal(err)
	}
	if err := first.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), o); !apierrors.IsAlreadyExists(err) {
		t.Errorf("error %v", err)
	}
	if left := podsIn(t, c, "taken"); len(left) != 3 {
		t.Errorf("%d pods", len(left))
	}
	if err := first.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

func optionsIn(t *testing.T, c *kube.Client, namespace, level string) Options {
	t.Helper()
	kubetest.Namespace(t, c, namespace)
	var ns corev1.Namespace
	if err := c.Get(t.Context(), client.ObjectKey{Name: namespace}, &ns); err != nil {
		t.Fatal(err)
	}
	ns.Labels["pod-security.kubernetes.io/enforce"] = level
	if err := c.Update(t.Context(), &ns); err != nil {
		t.Fatal(err)
	}
	return Options{Kube: c, Namespace: namespace, Run: "r1", Trial: "t1", Image: "gatemark.test/gatemark:x", Token: "secret", Secret: "runner", Attackers: 3}
}

func podsIn(t *testing.T, c *kube.Client, namespace string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := c.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// play is a kubelet that gives each pod a status once there are three.
func play(t *testing.T, c *kube.Client, namespace string, status func(i int, pod *corev1.Pod)) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	played := make(chan error, 1)
	t.Cleanup(func() {
		cancel()
		// A test may be over before the kubelet is.
		if err := <-played; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("in the kubelet's place: %v", err)
		}
	})
	go func() { played <- kubelet(ctx, c, namespace, status) }()
}

func kubelet(ctx context.Context, c *kube.Client, namespace string, status func(i int, pod *corev1.Pod)) error {
	var pods []*corev1.Pod
	err := kube.WaitAll(ctx, c, "pods", []client.ListOption{client.InNamespace(namespace)}, func(all []*corev1.Pod) (bool, string) {
		pods = all
		return len(all) == 3, ""
	})
	if err != nil {
		return err
	}
	for i, pod := range pods {
		status(i, pod)
		if err := client.IgnoreNotFound(c.Status().Update(ctx, pod)); err != nil {
			return err
		}
	}
	return nil
}

// serve is an attacker at a pod's address.
func serve(t *testing.T, ip string) {
	server, err := attacker.NewServer("secret")
	if err != nil {
		t.Error(err)
		return
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(Port)))
	if err != nil {
		t.Error(err)
		return
	}
	web := &http.Server{Handler: server, ReadHeaderTimeout: time.Second}
	go web.Serve(listener)
	t.Cleanup(func() { web.Close() })
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Token: "t", Secret: "s"}, {Attackers: 1, Secret: "s"}, {Attackers: 1, Token: "t"}} {
		if _, err := Start(t.Context(), o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
