package park

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
	"github.com/google/go-cmp/cmp"
)

func check[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestParkAndRestore(t *testing.T) {
	l := startLab(t)
	before := l.replicas(t)
	aside := l.replicas(t)
	aside["system/control"], aside["system/proxy"] = 0, 0
	for round := range 2 {
		for again := range 2 {
			changed, err := l.Park(t.Context(), perGateway)
			if err != nil || changed != (again == 0) {
				t.Fatalf("round %d, park %d: changed %v, %v", round, again, changed, err)
			}
			check(t, "set aside", l.replicas(t), aside)
		}
		if err := l.Undisturbed(t.Context(), perGateway); err != nil {
			t.Error(err)
		}
		for again := range 2 {
			changed, err := l.Restore(t.Context(), "product")
			if err != nil || changed != (again == 0) {
				t.Fatalf("round %d, restore %d: changed %v, %v", round, again, changed, err)
			}
			check(t, "brought back", l.replicas(t), before)
		}
		if err := l.AwaitReady(t.Context(), perGateway); err != nil {
			t.Error(err)
		}
	}
	check(t, "steps", l.steps[:6], []string{
		"wrote the restore manifest of product", "stopped deployment system/control",
		"wrote the restore manifest of product", "stopped deployment system/proxy",
		"brought deployment system/control back", "brought deployment system/proxy back"})
	check(t, "writes to what is not the run's", l.writesToOthers(), nil)
	if n := l.manifests(t); n != 0 {
		t.Errorf("%d manifests are left", n)
	}
}

// killed is what a step panics with: nothing after it happens, as after kill
// -9.
var killed = errors.New("killed")

// until runs work until n steps were taken, and reports whether it got to the
// end.
func (l *lab) until(n int, work func() error) (done bool, err error) {
	taken := 0
	l.Step = func(string) {
		if taken++; taken > n {
			panic(killed)
		}
	}
	defer func() {
		l.Step = nil
		if p := recover(); p != nil && p != killed { //nolint:errorlint // the very one
			panic(p)
		}
	}()
	err = work()
	return true, err
}

// TestKilledAnywhere: whatever was being done when the process died, RestoreAll
// brings everything back, and so does parking once more and restoring.
func TestKilledAnywhere(t *testing.T) {
	for name, work := range map[string]func(l *lab) error{
		"while it is set aside": func(l *lab) error { _, err := l.Park(t.Context(), perGateway); return err },
		"while it is brought back": func(l *lab) error {
			step := l.Step
			l.Step = nil
			_, err := l.Park(t.Context(), perGateway)
			l.Step = step
			return errors.Join(err, second(l.Restore(t.Context(), "product")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				l := startLab(t)
				before := l.replicas(t)
				done, err := l.until(n, func() error { return work(l) })
				if err != nil {
					t.Fatal(err)
				}
				if n%2 == 1 { // another runner comes before whoever cleans
					if _, err := l.Park(t.Context(), perGateway); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := RestoreAll(t.Context(), l.Kube, "", "r"); err != nil {
					t.Fatal(err)
				}
				check(t, "brought back", l.replicas(t), before)
				if l.manifests(t) != 0 {
					t.Errorf("killed after %d steps: a manifest is left", n)
				}
				check(t, "writes to what is not the run's", l.writesToOthers(), nil)
				if done {
					if n < 2 {
						t.Errorf("there are only %d steps to be killed at", n)
					}
					return
				}
			}
		})
	}
}

func second(_ bool, err error) error { return err }

func TestRestoreAllOfOneRun(t *testing.T) {
	l := startLab(t)
	if _, err := l.Park(t.Context(), perGateway); err != nil {
		t.Fatal(err)
	}
	for _, other := range [][2]string{{"", "r2"}, {"gatemark-r2", "r"}} {
		restored, err := RestoreAll(t.Context(), l.Kube, other[0], other[1])
		if err != nil || restored != nil || l.manifests(t) != 1 {
			t.Errorf("namespace %q, run %q: restored %q, %v", other[0], other[1], restored, err)
		}
	}
	restored, err := RestoreAll(t.Context(), l.Kube, "", "")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "restored", restored, []string{"product"})
}

// TestSomebodyScalesMeanwhile: what is brought back is what was there when it
// was set aside, and not what was read before.
func TestSomebodyScalesMeanwhile(t *testing.T) {
	l := startLab(t)
	scaled := false
	l.Step = func(what string) {
		if !scaled && strings.HasPrefix(what, "wrote") {
			scaled = true
			l.deployment(t, "system", "control", 5, kube.OwnedBy("r", ""))
		}
	}
	if _, err := l.Park(t.Context(), perGateway); err != nil {
		t.Fatal(err)
	}
	if n := l.replicas(t)["system/control"]; n != 0 {
		t.Errorf("%d replicas after it was set aside", n)
	}
	if _, err := l.Restore(t.Context(), "product"); err != nil {
		t.Fatal(err)
	}
	if n := l.replicas(t)["system/control"]; n != 5 {
		t.Errorf("%d replicas were brought back, want 5", n)
	}
}

// TestSomebodyStartsWhatIsAside: it is told, and restoring leaves it so.
func TestSomebodyStartsWhatIsAside(t *testing.T) {
	l := startLab(t)
	if _, err := l.Park(t.Context(), perGateway); err != nil {
		t.Fatal(err)
	}
	l.deployment(t, "system", "proxy", 9, map[string]string{"of": "demo.gw"})
	err := l.Undisturbed(t.Context(), perGateway)
	if err == nil || err.Error() != "deployment system/proxy of product was set aside, and somebody else started it" {
		t.Errorf("error %v", err)
	}
	if _, err := l.Restore(t.Context(), "product"); err != nil {
		t.Fatal(err)
	}
	if all := l.replicas(t); all["system/proxy"] != 9 || all["system/control"] != 2 {
		t.Errorf("replicas %v", all)
	}
}

// TestWhatIsGoneOrNewIsLeft: restoring is about what was set aside.
func TestWhatIsGoneOrNewIsLeft(t *testing.T) {
	l := startLab(t)
	if _, err := l.Park(t.Context(), perGateway); err != nil {
		t.Fatal(err)
	}
	l.server.Delete("deployments", "system", "control")
	l.server.Delete("deployments", "system", "proxy")
	l.deployment(t, "system", "proxy", 0, nil) // of the same name, and meant to be 0
	restored, err := RestoreAll(t.Context(), l.Kube, "", "r")
	if err != nil || len(restored) != 1 || l.manifests(t) != 0 {
		t.Errorf("restored %q, %v", restored, err)
	}
	if n := l.replicas(t)["system/proxy"]; n != 0 {
		t.Errorf("a new deployment has %d replicas", n)
	}
}

// TestWhatTheRunDidNotInstall: an implementation that was found is not parked,
// and the error says why.
func TestWhatTheRunDidNotInstall(t *testing.T) {
	for name, labels := range map[string]map[string]string{"nobody's": nil, "another run's": kube.OwnedBy("r2", ""), "not gatemark's": {kube.RunLabel: "r"}} {
		l := startLab(t)
		l.deployment(t, "system", "control", 2, labels)
		before := l.replicas(t)
		_, err := l.Park(t.Context(), perGateway)
		if err == nil || !strings.Contains(err.Error(), "set product aside: deployment system/control does not carry the label of run r") {
			t.Errorf("%s: error %v", name, err)
		}
		check(t, name, l.replicas(t), before)
		if l.manifests(t) != 0 {
			t.Errorf("%s: a manifest was written", name)
		}
	}
}

// TestSharedDataPlane: a DaemonSet that serves all Gateways is set aside by its
// nodeSelector, which is afterwards what it was; and only where the run made it
// or its namespace.
func TestSharedDataPlane(t *testing.T) {
	in := perGateway
	in.DataPlane = DataPlane{Kind: "DaemonSet", Selector: scenario.Selector{Namespace: "system", Labels: "app=proxy"}}
	for name, c := range map[string]struct {
		namespace, own map[string]string
		want           bool
	}{
		"its own label":          {nil, kube.OwnedBy("r", ""), true},
		"its namespace's label":  {kube.OwnedBy("r", ""), nil, true},
		"neither":                {nil, nil, false},
		"the one of another run": {kube.OwnedBy("r2", ""), kube.OwnedBy("r2", ""), false},
	} {
		l := startLab(t)
		l.server.Put(t, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: named("", "system", c.namespace)})
		set := &appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: named("system", "proxy", map[string]string{"app": "proxy"})}
		for key, value := range c.own {
			set.Labels[key] = value
		}
		set.Spec.Selector, set.Spec.Template = template("proxy")
		set.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "fast"}
		l.server.Put(t, set)
		if _, err := l.Park(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		ref := kube.WorkloadRef{Kind: "DaemonSet", Namespace: "system", Name: "proxy"}
		w, err := kube.GetWorkload(t.Context(), l.Kube, ref)
		if err != nil || w.Stopped() != c.want {
			t.Errorf("%s: set aside is %v, %v", name, w.Stopped(), err)
		}
		if _, err := l.Restore(t.Context(), "product"); err != nil {
			t.Fatal(err)
		}
		var after appsv1.DaemonSet
		if err := l.Kube.Get(t.Context(), client.ObjectKeyFromObject(set), &after); err != nil {
			t.Fatal(err)
		}
		check(t, name, after.Spec.Template.Spec.NodeSelector, map[string]string{"disk": "fast"})
	}
}

// TestPodsAreWaitedFor: the data plane is touched only when the control plane
// has no pod left that could bring it back.
func TestPodsAreWaitedFor(t *testing.T) {
	l := startLab(t)
	l.pod(t, "system", "control")
	l.Limit = 300 * time.Millisecond
	_, err := l.Park(t.Context(), perGateway)
	if err == nil || !strings.Contains(err.Error(), "deployment system/control was stopped and has 1 pods after 300ms") {
		t.Errorf("error %v", err)
	}
	if all := l.replicas(t); all["system/control"] != 0 || all["system/proxy"] != 3 {
		t.Errorf("replicas %v", all)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Park(ctx, perGateway); err == nil {
		t.Error("a wait outlived its context")
	}
	l.server.Delete("pods", "system", "control-1")
	if _, err := l.Park(t.Context(), perGateway); err != nil {
		t.Error(err)
	}
	if n := l.replicas(t)["system/proxy"]; n != 0 {
		t.Errorf("the data plane has %d replicas", n)
	}
}

func TestLinesKeepWhatWas(t *testing.T) {
	l := startLab(t)
	workload := func() []kube.Workload {
		w, err := kube.GetWorkload(t.Context(), l.Kube, perGateway.ControlPlane[0])
		if err != nil {
			t.Fatal(err)
		}
		return []kube.Workload{w}
	}
	ref := perGateway.ControlPlane[0]
	other := line{WorkloadRef: kube.WorkloadRef{Kind: "Deployment", Namespace: "system", Name: "other"}, UID: "u", Replicas: 4}
	first := with([]line{other}, workload())
	check(t, "a new line", first, []line{other, {WorkloadRef: ref, UID: workload()[0].GetUID(), Replicas: 2}})
	l.deployment(t, "system", "control", 7, nil)
	check(t, "a line told anew", with(first, workload()), []line{other, {WorkloadRef: ref, UID: workload()[0].GetUID(), Replicas: 7}})
	check(t, "nothing running", with(first, nil), first)
}
