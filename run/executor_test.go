package run

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/google/go-cmp/cmp"
)

// A lab is a cluster in memory, and an executor whose one scenario is act.
type lab struct {
	*Executor
	server *fakeapi.Server
	// acted lists the attempts that were begun, in order.
	acted []string
	act   func(ctx context.Context, t *scenario.Trial) error
	// The cluster refuses as many requests as these say.
	refuseLists, refuseDeletes int
}

// refuse counts down.
func refuse(times *int) error {
	if *times == 0 {
		return nil
	}
	*times--
	return apierrors.NewServiceUnavailable("for a while")
}

func startLab(t *testing.T, ids ...string) *lab {
	t.Helper()
	core := corev1.SchemeGroupVersion
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: core.WithKind("Namespace"), Name: "namespaces"},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Event"), Name: "events", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("ConfigMap"), Name: "configmaps", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Service"), Name: "services", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), Name: "endpointslices", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Name: "deployments", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("Gateway"), Name: "gateways", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("HTTPRoute"), Name: "httproutes", Namespaced: true},
	)
	c, err := kube.New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{server: server}
	// The fake takes objects from Go only.
	c.WithWatch = interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := refuse(&l.refuseLists); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := refuse(&l.refuseDeletes); err != nil {
				return err
			}
			return c.Delete(ctx, obj, opts...)
		},
		Create: func(_ context.Context, c client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			gvk, err := c.GroupVersionKindFor(obj)
			if err == nil {
				obj.GetObjectKind().SetGroupVersionKind(gvk)
				server.Put(t, obj)
			}
			return err
		},
	})
	l.Executor = l.executor(result.Directory(t.TempDir()), c, ids)
	return l
}

// executor is one life of the runner on a directory.
func (l *lab) executor(dir result.Directory, c *kube.Client, ids []string) *Executor {
	config := &Config{RunID: "20260101-000000-abcd", Plan: &plan.Plan{Scenarios: []plan.Trial{{Name: "s"}}},
		Targets: map[string]scenario.Target{"i": {Treatment: "i",
			ControlPlane: scenario.Selector{Namespace: "system", Labels: "app=control"},
			DataPlane:    scenario.Selector{Namespace: "{{.Namespace}}", Labels: "gateway={{.Name}}"}}}}
	for _, id := range ids {
		config.Schedule = append(config.Schedule, result.TrialRef{ID: id, Implementation: "i", Scenario: "s", Block: 1})
	}
	fake := &scenario.Scenario{Run: func(ctx context.Context, t *scenario.Trial) error {
		l.acted = append(l.acted, t.Result.ID)
		return l.act(ctx, t)
	}}
	return &Executor{Config: config, Dir: dir, Kube: c, find: func(name string) *scenario.Scenario {
		if name == "s" {
			return fake
		}
		return nil
	}}
}

// restart is the next life of the runner on the same disk.
func (l *lab) restart() {
	next := l.executor(l.Dir, l.Kube, nil)
	next.Config = l.Config
	l.Executor, l.acted = next, nil
}

// outcomes reads what is on disk, as "id outcome".
func (l *lab) outcomes(t *testing.T) []string {
	t.Helper()
	trials, err := l.Dir.ReadTrials()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, trial := range trials {
		all = append(all, trial.ID+" "+string(trial.Outcome))
	}
	slices.Sort(all)
	return all
}

// checkClean: after a run nothing is left, in the cluster and on disk.
func (l *lab) checkClean(t *testing.T) {
	t.Helper()
	if names := l.server.Names(); len(names) != 0 {
		t.Errorf("left in the cluster: %q", names)
	}
	files, err := filepath.Glob(filepath.Join(string(l.Dir), "*"))
	if err != nil || !slices.Equal(files, []string{filepath.Join(string(l.Dir), "trials")}) {
		t.Errorf("left on disk: %q, %v", files, err)
	}
}

func (l *lab) run(t *testing.T) {
	t.Helper()
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := l.Status(); !s.Done || s.Error != "" || s.Current != "" || s.Finished != s.Planned || s.Planned != len(l.Config.Schedule) {
		t.Errorf("status at the end: %+v", s)
	}
	l.checkClean(t)
}

func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestEveryTrialHasANamespaceOfItsOwn(t *testing.T) {
	l := startLab(t, "b01-x", "b01-a", "b02-a")
	namespaces := map[string]bool{}
	l.act = func(_ context.Context, trial *scenario.Trial) error {
		namespaces[trial.Namespace] = true
		check(t, "during "+trial.Result.ID, l.server.Names(), "namespaces /"+trial.Namespace)
		if s := l.Status(); s.Current != trial.Result.ID || s.Finished != len(l.acted)-1 {
			t.Errorf("status during %s: %+v", trial.Result.ID, s)
		}
		trial.Progress("half of %d", 10)
		if s := l.Status(); s.Progress != "half of 10" {
			t.Errorf("progress %q", s.Progress)
		}
		trial.Attachments["log.txt"] = []byte("text")
		return nil
	}
	l.run(t)
	check(t, "order", l.acted, "b01-x", "b01-a", "b02-a") // the schedule's, not the names'
	check(t, "outcomes", l.outcomes(t), "b01-a ok", "b01-x ok", "b02-a ok")
	if len(namespaces) != 3 {
		t.Errorf("namespaces %v", namespaces)
	}
	files, err := l.Dir.TrialFiles("b01-a")
	if err != nil || !slices.Equal(files, []string{"log.txt", "trial.json"}) {
		t.Errorf("files %q, %v", files, err)
	}
}

// TestWhatAScenarioReturns: each way in which a trial can end, and how often
// it is tried.
func TestWhatAScenarioReturns(t *testing.T) {
	const later = "b01-later ok"
	for name, c := range map[string]struct {
		act    func(t *scenario.Trial) error
		want   []string
		reason string
	}{
		"nothing": {func(*scenario.Trial) error { return nil }, []string{"b01-s ok"}, ""},
		"an invalid trial": {func(*scenario.Trial) error { return scenario.Invalid{Reason: errors.New("too late")} },
			[]string{"b01-s invalid", "b01-s-attempt2 invalid", "b01-s-attempt3 invalid"}, "too late"},
		"an error that nobody thought of": {func(*scenario.Trial) error { return errors.New("surprise") },
			[]string{"b01-s invalid", "b01-s-attempt2 invalid", "b01-s-attempt3 invalid"}, "surprise"},
		"a panic": {func(*scenario.Trial) error { panic("boom") },
			[]string{"b01-s invalid", "b01-s-attempt2 invalid", "b01-s-attempt3 invalid"}, "a defect of gatemark: boom\n"},
		"a gate that is not met": {func(t *scenario.Trial) error { t.Gate("late", "probes late", "ratio", 0.5, 0.1); return nil },
			[]string{"b01-s invalid", "b01-s-attempt2 invalid", "b01-s-attempt3 invalid"}, "gate late: probes late: 0.5 ratio, limit 0.1"},
		"a number that JSON lacks": {func(t *scenario.Trial) error { t.Metric("m", result.Value("m", "s", math.NaN())); return nil },
			[]string{"b01-s invalid", "b01-s-attempt2 invalid", "b01-s-attempt3 invalid"}, "a defect of gatemark: json: unsupported value: NaN"},
		"columns of different lengths": {func(t *scenario.Trial) error {
			t.Result.Series = []result.Series{{Name: "x", Columns: []result.Column{{Name: "a", Values: result.Numbers{1}}, {Name: "b"}}}}
			return nil
		}, []string{"b01-s invalid", "b01-s-attempt2 invalid", "b01-s-attempt3 invalid"}, "a defect of gatemark: series x: column b has 0 rows, others 1"},
		"an attachment outside": {func(t *scenario.Trial) error { t.Attachments["../x"] = nil; return nil },
			[]string{"b01-s invalid", "b01-s-attempt2 invalid", "b01-s-attempt3 invalid"}, `attachment "../x" leaves its directory`},
		"a gateway that fails": {func(*scenario.Trial) error { return scenario.Failed{Reason: errors.New("no address")} },
			[]string{"b01-s failed"}, "no address"},
		"what is not supported": {func(*scenario.Trial) error { return scenario.Unsupported{Reason: errors.New("no TLS")} },
			[]string{"b01-s unsupported"}, "no TLS"},
		"invalid twice, then measured": {func(t *scenario.Trial) error {
			if t.Result.Attempt < 3 {
				return errors.New("not yet")
			}
			return nil
		}, []string{"b01-s invalid", "b01-s-attempt2 invalid", "b01-s-attempt3 ok"}, "not yet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "b01-s", "b01-later")
			l.act = func(_ context.Context, trial *scenario.Trial) error {
				if strings.HasPrefix(trial.Result.ID, "b01-later") {
					return nil
				}
				return c.act(trial)
			}
			l.run(t)
			check(t, "outcomes", l.outcomes(t), append([]string{later}, c.want...)...)
			first, err := l.Dir.ReadTrial("b01-s")
			if err != nil || !strings.Contains(first.Reason, c.reason) || (first.Reason == "") != (c.reason == "") {
				t.Errorf("reason %q, want %q; %v", first.Reason, c.reason, err)
			}
			if first.Attempt != 1 || first.Started.IsZero() || first.Scenario != "s" || first.Implementation != "i" || first.RunID != l.Config.RunID {
				t.Errorf("identity %+v", first)
			}
			if name == "a panic" && !strings.Contains(first.Reason, "executor_test.go") {
				t.Errorf("the stack does not say where: %s", first.Reason)
			}
			if name == "a gateway that fails" && (len(first.Findings) != 1 || first.Findings[0].ID != "s/not-measurable") {
				t.Errorf("findings %+v", first.Findings)
			}
		})
	}
}

func TestATrialWithoutItsScenarioOrParametersIsInvalid(t *testing.T) {
	l := startLab(t, "b01-s")
	l.act = func(context.Context, *scenario.Trial) error { return nil }
	l.Config.Schedule = []result.TrialRef{
		{ID: "b01-gone", Implementation: "i", Scenario: "gone"},
		{ID: "b01-s-v", Implementation: "i", Scenario: "s", Variant: "v"},
		{ID: "b01-s", Implementation: "i", Scenario: "s"}}
	l.Config.Plan.Scenarios = append(l.Config.Plan.Scenarios, plan.Trial{Name: "gone"})
	l.run(t)
	check(t, "run", l.acted, "b01-s")
	for id, reason := range map[string]string{"b01-gone": "there is no scenario gone", "b01-s-v": "its scenario is not in the plan"} {
		trial, err := l.Dir.ReadTrial(id)
		if err != nil || trial.Outcome != result.Invalid || !strings.Contains(trial.Reason, reason) {
			t.Errorf("%s: %+v, %v", id, trial, err)
		}
	}
}

// TestAKilledRunnerGoesOn: the trial in hand is lost, its namespace goes, and
// nothing that is finished is repeated.
func TestAKilledRunnerGoesOn(t *testing.T) {
	l := startLab(t, "b01-a", "b01-b", "b01-c")
	ctx, kill := context.WithCancel(t.Context())
	l.act = func(_ context.Context, trial *scenario.Trial) error {
		if trial.Result.ID == "b01-b" {
			kill()
		}
		return nil
	}
	if err := l.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the run ended with %v", err)
	}
	if s := l.Status(); s.Done || !strings.Contains(s.Error, "trial b01-b: context canceled") {
		t.Errorf("status %+v", s)
	}
	check(t, "no half result", l.outcomes(t), "b01-a ok")
	if len(l.server.Names()) != 1 {
		t.Fatalf("in the cluster: %q; the test wants the namespace of the lost trial there", l.server.Names())
	}
	l.restart()
	l.act = func(_ context.Context, trial *scenario.Trial) error {
		check(t, "during "+trial.Result.ID, l.server.Names(), "namespaces /"+trial.Namespace)
		return nil
	}
	l.run(t)
	check(t, "run", l.acted, "b01-b-attempt2", "b01-c")
	check(t, "outcomes", l.outcomes(t), "b01-a ok", "b01-b invalid", "b01-b-attempt2 ok", "b01-c ok")
	lost, err := l.Dir.ReadTrial("b01-b")
	if err != nil || lost.Reason != "the runner was lost during the trial" || lost.Duration < 0 || lost.Duration > 60 {
		t.Errorf("the lost trial: %q after %g s, %v", lost.Reason, lost.Duration, err)
	}
	l.restart()
	l.run(t)
	check(t, "a third life", l.acted)
}

// TestAMarkerThatCannotBeRead: the trial that was in hand is the next one.
func TestAMarkerThatCannotBeRead(t *testing.T) {
	for _, torn := range []string{"", "{", `{"ref":{"id":"b0`, "{}"} {
		l := startLab(t, "b01-a", "b01-b")
		l.act = func(context.Context, *scenario.Trial) error { return nil }
		done := Lost(l.Config.RunID, Attempt{Ref: l.Config.Schedule[0], Number: 1, Began: time.Now()}, "")
		done.Outcome = result.OK
		if err := l.Dir.WriteTrial(done, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(string(l.Dir), inHand), []byte(torn), 0o644); err != nil {
			t.Fatal(err)
		}
		l.run(t)
		check(t, "after "+torn, l.outcomes(t), "b01-a ok", "b01-b invalid", "b01-b-attempt2 ok")
		if lost, err := l.Dir.ReadTrial("b01-b"); err != nil || lost.Duration > 60 {
			t.Errorf("%+v, %v", lost, err)
		}
	}
}

// TestAnotherRunnerTakesOver: on an empty disk, with what the session has.
func TestAnotherRunnerTakesOver(t *testing.T) {
	l := startLab(t, "b01-a", "b01-b", "b01-c", "b01-d")
	l.act = func(_ context.Context, trial *scenario.Trial) error {
		check(t, "during "+trial.Result.ID, l.server.Names(), "namespaces /"+trial.Namespace, "namespaces /others")
		return nil
	}
	l.Config.Finished = map[string]result.Outcome{
		"b01-a": result.OK, "b01-b": result.Invalid,
		"b01-c": result.Invalid, "b01-c-attempt2": result.Invalid, "b01-c-attempt3": result.Invalid,
	}
	// What the lost one left: the namespace of its trial, with a Gateway.
	left := Attempt{Ref: l.Config.Schedule[1], Number: 1}
	for _, ns := range []*corev1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: namespace(l.Config.RunID, left), Labels: kube.OwnedBy(l.Config.RunID, left.ID())}},
		{ObjectMeta: metav1.ObjectMeta{Name: "others", Labels: kube.OwnedBy("another-run", left.ID())}},
	} {
		ns.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
		l.server.Put(t, ns)
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "run", l.acted, "b01-b-attempt2", "b01-d")
	check(t, "on disk", l.outcomes(t), "b01-b-attempt2 ok", "b01-d ok")
	check(t, "in the cluster", l.server.Names(), "namespaces /others")
}

// TestAnAPIServerThatFails makes trials invalid, and not the run; what could
// not be removed is removed before the next trial.
func TestAnAPIServerThatFails(t *testing.T) {
	l := startLab(t, "b01-a", "b01-b")
	l.act = func(_ context.Context, trial *scenario.Trial) error {
		check(t, "during "+trial.Result.ID, l.server.Names(), "namespaces /"+trial.Namespace)
		if trial.Result.ID == "b01-a" {
			l.refuseDeletes, l.refuseLists = 1, 1 // its end, and the beginning of the next
		}
		return nil
	}
	l.run(t)
	check(t, "outcomes", l.outcomes(t), "b01-a invalid", "b01-a-attempt2 invalid", "b01-a-attempt3 ok", "b01-b ok")
	for id, want := range map[string]string{"b01-a": "clean up: ", "b01-a-attempt2": "remove leftovers: "} {
		if trial, err := l.Dir.ReadTrial(id); err != nil || !strings.HasPrefix(trial.Reason, want) {
			t.Errorf("%s: %q, %v", id, trial.Reason, err)
		}
	}
}

// TestNamespacesBesideATrialsGoWithIt: a scenario may make more of them, under
// the trial's label.
func TestNamespacesBesideATrialsGoWithIt(t *testing.T) {
	l := startLab(t, "b01-a")
	l.act = func(ctx context.Context, trial *scenario.Trial) error {
		names, err := trial.MakeNamespaces(ctx, 30)
		if len(names) != 30 || names[29] != trial.Namespace+"-30" || len(l.server.Names()) != 31 {
			t.Errorf("made %q, there are %q", names, l.server.Names())
		}
		return err
	}
	l.run(t) // and nothing is left
}
