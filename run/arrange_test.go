package run

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/scenario"
)

// twoInstalled is a lab whose run installed i, which a copy shares, and j. k
// was found.
func twoInstalled(t *testing.T, isolation string) *lab {
	t.Helper()
	l := startLab(t)
	l.Config.Namespace, l.Config.Plan.Isolation = "gatemark-r", isolation
	l.Config.Installed = map[string]park.Installation{}
	l.Config.Targets = map[string]scenario.Target{}
	for treatment, name := range map[string]string{"i": "i", "j/variant": "j"} {
		l.deployment(t, name, kube.OwnedBy(l.Config.RunID, ""))
		l.Config.Installed[treatment] = park.Installation{Name: name, GatewayClass: name,
			ControlPlane: []kube.WorkloadRef{{Kind: "Deployment", Namespace: "system", Name: name}},
			DataPlane: park.DataPlane{Kind: "Deployment", PerGateway: true,
				Selector: scenario.Selector{Namespace: "system", Labels: "gateway={{.Name}}"}}}
	}
	l.deployment(t, "k", nil)
	for n, treatment := range []string{"j/variant", "i", "k", "i#2"} {
		l.Config.Targets[treatment] = scenario.Target{Treatment: treatment,
			ControlPlane: scenario.Selector{Namespace: "system", Labels: "pods=" + treatment[:1]},
			DataPlane:    scenario.Selector{Namespace: "{{.Namespace}}", Labels: "gateway={{.Name}}"}}
		id := []string{"b01-j", "b01-i", "b01-k", "b01-i2"}[n]
		l.Config.Schedule = append(l.Config.Schedule, result.TrialRef{ID: id, Implementation: treatment, Scenario: "s", Block: 1})
	}
	l.calm = &park.Calm{}
	return l
}

func (l *lab) deployment(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	pods := map[string]string{"pods": name}
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name, Labels: labels}}
	d.Spec = appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: pods}}
	d.Spec.Template.Labels = pods
	d.Status = appsv1.DeploymentStatus{AvailableReplicas: 2, UpdatedReplicas: 2}
	l.server.Put(t, d)
}

// running lists the Deployments that are to have pods.
func (l *lab) running(t *testing.T) string {
	t.Helper()
	var all appsv1.DeploymentList
	if err := l.Kube.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, d := range all.Items {
		names[d.Name] = *d.Spec.Replicas == 2
	}
	text := ""
	for _, name := range []string{"i", "j", "k"} {
		if names[name] {
			text += name
		}
	}
	return text
}

// TestIsolation: what runs during each trial. What was found, k, always does.
func TestIsolation(t *testing.T) {
	for isolation, want := range map[string]map[string]string{
		"parked":     {"b01-j": "jk", "b01-i": "ik", "b01-k": "k", "b01-i2": "ik"},
		"coresident": {"b01-j": "ijk", "b01-i": "ijk", "b01-k": "ijk", "b01-i2": "ijk"},
		"joined":     {"b01-j": "ijk", "b01-i": "ijk", "b01-k": "ijk", "b01-i2": "ijk"},
	} {
		t.Run(isolation, func(t *testing.T) {
			l := twoInstalled(t, isolation)
			others := map[string]string{"b01-j": "i, k", "b01-i": "j/variant, k", "b01-k": "i, j/variant", "b01-i2": "j/variant, k"}
			l.act = func(_ context.Context, trial *scenario.Trial) error {
				id := trial.Result.ID
				if got := l.running(t); got != want[id] {
					t.Errorf("%s: running are %q, want %q", id, got, want[id])
				}
				if got := names(trial.Others); trial.Isolation != isolation || got != others[id] {
					t.Errorf("%s: isolation %s, others %q", id, trial.Isolation, got)
				}
				return nil
			}
			if err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			check(t, "outcomes", l.outcomes(t), "b01-i ok", "b01-i2 ok", "b01-j ok", "b01-k ok")
			trial, err := l.Dir.ReadTrial("b01-k")
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(trial.Notes, "\n")
			for text, said := range map[string]bool{
				"Set aside during this trial: j/variant.":              isolation == "parked",
				"Installed beside it, and running: i, j/variant.":      isolation != "parked",
				"routes name its own Gateway only, although the plan ": isolation == "joined",
			} {
				if strings.Contains(notes, text) != said {
					t.Errorf("the notes say %q: %v\n%s", text, !said, notes)
				}
			}
			if err := l.bringBack(t.Context()); err != nil || l.running(t) != "ijk" {
				t.Errorf("at the end %q run, %v", l.running(t), err)
			}
		})
	}
}

// TestACopySharesItsInstallation: from a treatment to its copy, nothing is
// stopped or started.
func TestACopySharesItsInstallation(t *testing.T) {
	l := twoInstalled(t, "parked")
	l.Config.Schedule = []result.TrialRef{
		{ID: "b01-i", Implementation: "i", Scenario: "s"}, {ID: "b01-i2", Implementation: "i#2", Scenario: "s"}, {ID: "b02-i", Implementation: "i", Scenario: "s"}}
	patches := 0
	l.act = func(_ context.Context, trial *scenario.Trial) error {
		patches = 0
		for _, r := range l.server.Requests() {
			if strings.HasPrefix(r, "PATCH ") && strings.Contains(r, "/deployments/") {
				patches++
			}
		}
		return nil
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if patches != 1 {
		t.Errorf("%d patches of Deployments, want 1: j, set aside once", patches)
	}
}

// TestWhatComesBackDuringATrial makes it invalid.
func TestWhatComesBackDuringATrial(t *testing.T) {
	l := twoInstalled(t, "parked")
	l.Config.Schedule = []result.TrialRef{{ID: "b01-i", Implementation: "i", Scenario: "s"}}
	l.act = func(context.Context, *scenario.Trial) error {
		if len(l.acted) == 1 {
			l.deployment(t, "j", kube.OwnedBy(l.Config.RunID, ""))
		}
		return nil
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "outcomes", l.outcomes(t), "b01-i invalid", "b01-i-attempt2 ok")
	trial, err := l.Dir.ReadTrial("b01-i")
	if err != nil || trial.Reason != "isolate: deployment system/j of j was set aside, and somebody else started it" {
		t.Errorf("reason %q, %v", trial.Reason, err)
	}
}

// TestLeftoversGoWithTheirOwnControlPlane: before what a lost trial of i left is
// removed, i is brought back, even if the next trial is j's.
func TestLeftoversGoWithTheirOwnControlPlane(t *testing.T) {
	l := twoInstalled(t, "parked")
	ctx, kill := context.WithCancel(t.Context())
	l.act = func(context.Context, *scenario.Trial) error { kill(); return nil }
	if err := l.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := l.running(t); got != "jk" {
		t.Fatalf("%q run in the trial that was lost", got)
	}
	l.restart()
	l.calm = &park.Calm{}
	l.Config.Schedule = append(l.Config.Schedule[1:], l.Config.Schedule[0]) // i is next
	first := ""
	l.act = func(_ context.Context, trial *scenario.Trial) error {
		if first == "" {
			first = trial.Result.ID
			for _, name := range l.server.Names() {
				if strings.HasPrefix(name, "namespaces ") && name != "namespaces /"+trial.Namespace {
					t.Errorf("left behind: %s", name)
				}
			}
		}
		return nil
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first != "b01-i" {
		t.Errorf("the first trial was %s", first)
	}
	// i was stopped once, for the trial of j, and must have been started.
	patches := 0
	for _, r := range l.server.Requests() {
		if strings.HasPrefix(r, "DELETE ") && strings.Contains(r, "/namespaces/gm-") {
			break
		}
		if strings.HasPrefix(r, "PATCH ") && strings.HasSuffix(r, "/deployments/i") {
			patches++
		}
	}
	if patches != 2 {
		t.Errorf("%d patches of i before anything was removed, want 2", patches)
	}
}
