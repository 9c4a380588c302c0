package fleet_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/load/attacker"
	"github.com/gatemark/gatemark/measure/fleet"
)

const backend = `
apiVersion: v1
kind: Namespace
metadata: {name: trial}
---
apiVersion: v1
kind: Secret
metadata: {name: runner, namespace: trial}
stringData: {token: secret}
---
apiVersion: v1
kind: Pod
metadata: {name: echo, namespace: trial}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  containers:
  - name: echo
    image: {{.}}
    imagePullPolicy: IfNotPresent
    args: [echo, --listen, ":8080", --admin, ":8081"]
    readinessProbe:
      httpGet: {path: /readyz, port: 8081}
      periodSeconds: 1
`

// TestPodsAttackAsOne: four attackers in pods attack a backend in a fifth, and
// what they find is one result. Then one of them is deleted.
func TestPodsAttackAsOne(t *testing.T) {
	cluster := localtest.StartNode(t)
	config, err := cluster.RESTConfig()
	must(t, err)
	c, err := kube.New(t.Context(), config)
	must(t, err)
	ref := ownImage(t, cluster)
	target := startBackend(t, c, ref)
	pods, err := fleet.Start(t.Context(), fleet.Options{
		Kube: c, Namespace: "trial", Run: "r1", Trial: "t1", Image: ref, Token: "secret", Secret: "runner", Attackers: 4, CPU: "50m",
		Fleet: attacker.FleetOptions{Dial: localtest.Inside(t, cluster)},
	})
	must(t, err)
	o := load.Options{
		Targets:     []load.Target{{URL: target, Expect: load.Expect{Body: -1}}},
		Connections: 16,
		Rate:        load.Profile{{From: 2000, To: 2000, Duration: 3 * time.Second}, {Duration: time.Second}},
	}
	must(t, pods.Prepare(t.Context(), o))
	_, err = pods.Start(t.Context())
	must(t, err)
	out, err := pods.Collect(t.Context())
	must(t, err)
	r := out.Result
	t.Logf("%d requests, %v/s achieved of %v/s, latency %+v, verdict %s %q", r.Requests, r.AchievedRate, r.RequestedRate, r.Latency, r.Verdict, r.Reasons)
	t.Logf("seccomp %s, engine %s, skew %v", pods.Seccomp, r.Engine, out.Skew)
	if r.Requests != 6000 || len(r.Errors) > 0 || r.Connections != 16 {
		t.Errorf("%d requests, errors %v, %d connections", r.Requests, r.Errors, r.Connections)
	}
	if len(out.Attackers) != 4 {
		t.Fatalf("%d attackers", len(out.Attackers))
	}
	for i, a := range out.Attackers {
		t.Logf("%s on %s: %d requests, %d threads, %s, clock %+v, drift %v", a.Name, a.Node, a.Result.Requests, a.Result.Threads, a.Result.Engine, out.Clocks[i].Before, out.Clocks[i].Drift)
		if a.Node == "" || a.Result.Requests == 0 || a.Result.Requests == r.Requests {
			t.Errorf("%s on node %q: %d requests", a.Name, a.Node, a.Result.Requests)
		}
	}
	loseOne(t, c, pods, o)
	must(t, pods.Remove(t.Context()))
	fallBack(t, c, ref, target, localtest.Inside(t, cluster))
}

// fallBack has attackers where the strictest policy holds.
func fallBack(t *testing.T, c *kube.Client, ref, target string, dial func(context.Context, string, string) (net.Conn, error)) {
	t.Helper()
	var ns corev1.Namespace
	must(t, c.Get(t.Context(), client.ObjectKey{Name: "trial"}, &ns))
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	must(t, c.Update(t.Context(), &ns))
	pods, err := fleet.Start(t.Context(), fleet.Options{
		Kube: c, Namespace: "trial", Run: "r1", Trial: "t1", Image: ref, Token: "secret", Secret: "runner", Attackers: 2, CPU: "50m",
		Fleet: attacker.FleetOptions{Dial: dial},
	})
	must(t, err)
	must(t, pods.Prepare(t.Context(), load.Options{
		Targets: []load.Target{{URL: target, Expect: load.Expect{Body: -1}}}, Connections: 4, Requests: 1000,
	}))
	_, err = pods.Start(t.Context())
	must(t, err)
	out, err := pods.Collect(t.Context())
	must(t, err)
	t.Logf("restricted: seccomp %s, engine %s", pods.Seccomp, out.Result.Engine)
	if pods.Seccomp != corev1.SeccompProfileTypeRuntimeDefault || out.Result.Requests != 1000 || len(out.Result.Errors) > 0 {
		t.Errorf("seccomp %s, %d requests, errors %v", pods.Seccomp, out.Result.Requests, out.Result.Errors)
	}
	must(t, pods.Remove(t.Context()))
}

func loseOne(t *testing.T, c *kube.Client, pods *fleet.Pods, o load.Options) {
	t.Helper()
	o.Rate = load.Steady(500, time.Hour)
	must(t, pods.Prepare(t.Context(), o))
	_, err := pods.Start(t.Context())
	must(t, err)
	must(t, c.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "trial", Name: "attacker-2"}}))
	deleted := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = pods.Collect(ctx)
	var lost *attacker.ErrLost
	if !errors.As(err, &lost) || lost.Attacker != "attacker-2" {
		t.Fatalf("error %v", err)
	}
	t.Logf("%v later: %v", time.Since(deleted).Round(time.Millisecond), err)
}

// ownImage packs gatemark as it is here.
func ownImage(t *testing.T, cluster *local.Cluster) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "gatemark")
	build := exec.Command("go", "build", "-o", program, "github.com/gatemark/gatemark/cmd/gatemark")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build gatemark: %v\n%s", err, out)
	}
	images := image.Builder{Dir: t.TempDir(), Progress: progress.New(os.Stderr)}
	built, err := images.Build(t.Context(), image.Recipe{
		Name: "gatemark", Version: "test", Files: []image.File{{Path: "/usr/local/bin/gatemark", Executable: program}},
	})
	must(t, err)
	must(t, cluster.LoadImage(t.Context(), built.Tar))
	return built.Ref
}

// startBackend returns the URL of the backend's pod.
func startBackend(t *testing.T, c *kube.Client, ref string) string {
	t.Helper()
	objects, err := kube.Render("backend", backend, ref)
	must(t, err)
	must(t, kube.Apply(t.Context(), c, objects[0]))
	// A namespace is not ready for pods before it has its service account.
	account := client.ObjectKey{Namespace: "trial", Name: "default"}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err = kube.Wait(ctx, c, "the service account", account, func(*corev1.ServiceAccount) (bool, string) { return true, "" })
	must(t, err)
	for _, object := range objects[1:] {
		must(t, kube.Apply(t.Context(), c, object))
	}
	pod, err := kube.Wait(ctx, c, "the backend", client.ObjectKey{Namespace: "trial", Name: "echo"}, func(pod *corev1.Pod) (bool, string) {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return true, ""
			}
		}
		return false, string(pod.Status.Phase)
	})
	must(t, err)
	return "http://" + net.JoinHostPort(pod.Status.PodIP, "8080") + "/"
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
