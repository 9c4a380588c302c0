package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/run/transfer"
	"github.com/google/go-cmp/cmp"
)

// happy finishes one trial at each question, and is done.
func happy(r *pod, n int) transfer.Status {
	switch n {
	case 1:
		return at("b01-a")
	case 2:
		r.finish("b01-a", result.OK)
		return at("b01-b")
	case 3:
		r.finish("b01-b", result.Invalid)
		return at("b01-b-attempt2")
	case 4:
		r.finish("b01-b-attempt2", result.OK)
	}
	return done()
}

// outcomes reads what the session has brought home.
func outcomes(t *testing.T, dir result.Directory) map[string]result.Outcome {
	t.Helper()
	all, err := run.Outcomes(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func check[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestARunIsSeenThrough(t *testing.T) {
	site := startSite(t, happy)
	dir := result.Directory(t.TempDir())
	s := site.session(dir)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "brought home", outcomes(t, dir), map[string]result.Outcome{"b01-a": "ok", "b01-b": "invalid", "b01-b-attempt2": "ok"})
	counts, err := s.Outcomes()
	if err != nil {
		t.Fatal(err)
	}
	check(t, "counts: the last attempt at each", counts, map[result.Outcome]int{"ok": 2})
	if len(site.started) != 1 || site.token == "" || site.config.RunID != runID || len(site.config.Schedule) != 2 {
		t.Errorf("%d runners, configuration %+v", len(site.started), site.config)
	}
	for _, want := range []string{"✓ trial 1 of 2, b01-a: ok", "b01-b: invalid: of b01-b", "b01-b-attempt2: ok"} {
		if !strings.Contains(site.said.String(), want) {
			t.Errorf("not said: %s\nbut:\n%s", want, &site.said)
		}
	}
}

// TestALostRunnerIsReplaced: the trial in hand is an invalid attempt, what is
// finished stays, and the next runner knows both.
func TestALostRunnerIsReplaced(t *testing.T) {
	site := startSite(t, func(r *pod, n int) transfer.Status {
		if r.number > 1 {
			r.finish("b01-b-attempt2", result.OK)
			return done()
		}
		if n == 3 {
			r.kill()
		}
		return happy(r, min(n, 2))
	})
	dir := result.Directory(t.TempDir())
	if err := site.session(dir).Run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &site.said)
	}
	check(t, "brought home", outcomes(t, dir), map[string]result.Outcome{"b01-a": "ok", "b01-b": "invalid", "b01-b-attempt2": "ok"})
	if len(site.started) != 2 {
		t.Fatalf("%d runners", len(site.started))
	}
	check(t, "told to the second runner", site.started[1].config.Finished, map[string]result.Outcome{"b01-a": "ok", "b01-b": "invalid"})
	lost, err := dir.ReadTrial("b01-b")
	if err != nil || !strings.HasPrefix(lost.Reason, "the runner was lost during the trial: ") || lost.Started.IsZero() || lost.Attempt != 1 {
		t.Errorf("the lost trial: %+v, %v", lost, err)
	}
}

func TestARunnerThatFallsSilentIsReplaced(t *testing.T) {
	site := startSite(t, func(r *pod, n int) transfer.Status {
		if r.number == 1 {
			r.mute.Store(n == 2)
			return at("b01-a")
		}
		r.finish("b01-a-attempt2", result.OK)
		r.finish("b01-b", result.OK)
		return done()
	})
	dir := result.Directory(t.TempDir())
	if err := site.session(dir).Run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &site.said)
	}
	check(t, "brought home", outcomes(t, dir), map[string]result.Outcome{"b01-a": "invalid", "b01-a-attempt2": "ok", "b01-b": "ok"})
}

// TestAClusterOutOfReachIsNoLostRunner: the runner goes on measuring there.
func TestAClusterOutOfReachIsNoLostRunner(t *testing.T) {
	site := startSite(t, func(r *pod, n int) transfer.Status {
		if n == 2 {
			r.away.Store(true)
			time.AfterFunc(600*time.Millisecond, func() { r.away.Store(false) }) // three times the limit of a silent runner
		}
		return happy(r, n)
	})
	dir := result.Directory(t.TempDir())
	if err := site.session(dir).Run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &site.said)
	}
	check(t, "brought home", outcomes(t, dir), map[string]result.Outcome{"b01-a": "ok", "b01-b": "invalid", "b01-b-attempt2": "ok"})
	if len(site.started) != 1 {
		t.Errorf("%d runners", len(site.started))
	}
	if n := strings.Count(site.said.String(), "the cluster is out of reach"); n != 1 {
		t.Errorf("the trouble was said %d times:\n%s", n, &site.said)
	}
}

func TestAClusterThatStaysAwayEndsTheSession(t *testing.T) {
	site := startSite(t, func(r *pod, n int) transfer.Status {
		if n == 2 {
			r.away.Store(true)
		}
		return happy(r, min(n, 2))
	})
	dir := result.Directory(t.TempDir())
	s := site.session(dir)
	s.limits.away = 50 * time.Millisecond
	err := s.Run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "the cluster was out of reach for 50ms: ") {
		t.Fatalf("error %v", err)
	}
	if hints := failure.Hints(err); len(hints) != 1 || !strings.Contains(hints[0], "gatemark run --resume "+string(dir)) {
		t.Errorf("hints %q", hints)
	}
	// The trial in hand may end well: nothing is recorded against it.
	if got := outcomes(t, dir); len(got) != 0 && len(got) != 1 || got["b01-b"] != "" {
		t.Errorf("brought home %v", got)
	}
}

// TestASessionThatComesBack pulls what was finished meanwhile, and starts no
// second runner.
func TestASessionThatComesBack(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	site := startSite(t, func(r *pod, n int) transfer.Status {
		switch {
		case n < 3:
			return happy(r, n)
		case n == 3:
			leave()
			return at("b01-b")
		}
		r.finish("b01-b", result.OK) // while nobody was there
		return done()
	})
	dir := result.Directory(t.TempDir())
	if err := site.session(dir).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first session ended with %v", err)
	}
	check(t, "brought home before", outcomes(t, dir), map[string]result.Outcome{"b01-a": "ok"})
	if err := site.session(dir).Run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &site.said)
	}
	check(t, "brought home", outcomes(t, dir), map[string]result.Outcome{"b01-a": "ok", "b01-b": "ok"})
	if len(site.started) != 1 {
		t.Errorf("%d runners", len(site.started))
	}
}

// TestAnEvictedRunnerIsReplaced: its pod is still there, and will never run.
func TestAnEvictedRunnerIsReplaced(t *testing.T) {
	site := startSite(t, happy)
	site.born = func(r *pod) {
		if r.number == 1 {
			r.phase = corev1.PodFailed
			r.mute.Store(true)
		}
	}
	dir := result.Directory(t.TempDir())
	if err := site.session(dir).Run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &site.said)
	}
	if len(site.started) != 2 || outcomes(t, dir)["b01-a"] != "ok" {
		t.Errorf("%d runners, brought home %v", len(site.started), outcomes(t, dir))
	}
}

func TestRunnersThatFinishNothingAreNotStartedForEver(t *testing.T) {
	site := startSite(t, happy)
	site.born = func(r *pod) { r.mute.Store(true) }
	s := site.session(result.Directory(t.TempDir()))
	s.limits.lost = 20 * time.Millisecond
	err := s.Run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "3 runners in a row were lost without a result, the last one: ") {
		t.Errorf("error %v", err)
	}
	if len(site.started) != barrenLimit {
		t.Errorf("%d runners", len(site.started))
	}
}

func TestARunnerThatGivesUpIsAnError(t *testing.T) {
	site := startSite(t, func(r *pod, n int) transfer.Status {
		s := happy(r, min(n, 2))
		if n == 3 {
			s.Error = "no space left on device"
		}
		return s
	})
	dir := result.Directory(t.TempDir())
	err := site.session(dir).Run(t.Context())
	if err == nil || err.Error() != "the runner gave up: no space left on device" {
		t.Errorf("error %v", err)
	}
	check(t, "what it had finished is brought home", outcomes(t, dir), map[string]result.Outcome{"b01-a": "ok"})
}

func TestATransferThatIsDamagedForAWhile(t *testing.T) {
	site := startSite(t, happy)
	broken := 40 // more than one poll repeats by itself
	site.damage = func(path string, body []byte) []byte {
		if broken > 0 && strings.HasSuffix(path, "log.txt") {
			broken--
			return body[:len(body)/2]
		}
		return body
	}
	dir := result.Directory(t.TempDir())
	if err := site.session(dir).Run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &site.said)
	}
	check(t, "brought home", outcomes(t, dir), map[string]result.Outcome{"b01-a": "ok", "b01-b": "invalid", "b01-b-attempt2": "ok"})
	if n := strings.Count(site.said.String(), "trying again"); n != 1 {
		t.Errorf("the trouble was said %d times:\n%s", n, &site.said)
	}
}

func TestATransferThatStaysDamagedEndsTheSession(t *testing.T) {
	site := startSite(t, happy)
	site.damage = func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "log.txt") {
			body[0] ^= 1
		}
		return body
	}
	dir := result.Directory(t.TempDir())
	s := site.session(dir)
	s.limits.damage = 50 * time.Millisecond
	err := s.Run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "a finished trial could not be brought home for 50ms: pull trial b01-a: log.txt") {
		t.Errorf("error %v", err)
	}
	if len(failure.Hints(err)) != 1 || len(outcomes(t, dir)) != 0 {
		t.Errorf("hints %q, brought home %v", failure.Hints(err), outcomes(t, dir))
	}
}

func TestRemoveLeavesNothingOfTheRun(t *testing.T) {
	site := startSite(t, happy)
	s := site.session(result.Directory(t.TempDir()))
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(site.api.Names()); n != 11 {
		t.Fatalf("in the cluster: %q", site.api.Names())
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The Secret of the fake carries no labels, and goes with its namespace.
	if names := site.api.Names(); len(names) != 0 {
		t.Errorf("left: %q", names)
	}
}

// TestRemoveBringsBackWhatWasSetAside, after the runner has ended, which could
// set it aside again.
func TestRemoveBringsBackWhatWasSetAside(t *testing.T) {
	site := startSite(t, happy)
	s := site.session(result.Directory(t.TempDir()))
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	control := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "control", UID: "u1"}}
	control.Spec.Replicas = ptr.To[int32](0)
	site.api.Put(t, control)
	manifest := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace(runID), Name: "parked-product", Labels: map[string]string{park.Label: "product"}},
		Data:       map[string]string{"workloads.json": `[{"kind":"Deployment","namespace":"system","name":"control","uid":"u1","replicas":3}]`}}
	kube.Own(manifest, runID, "")
	site.api.Put(t, manifest)
	if err := s.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := kube.GetWorkload(t.Context(), site.kube, kube.WorkloadRef{Kind: "Deployment", Namespace: "system", Name: "control"})
	if err != nil || w.Replicas() != 3 {
		t.Errorf("%d replicas, %v", w.Replicas(), err)
	}
	requests := site.api.Requests()
	ended := slices.Index(requests, "DELETE /api/v1/namespaces/"+Namespace(runID)+"/pods/runner")
	back := slices.Index(requests, "PATCH /apis/apps/v1/namespaces/system/deployments/control")
	if ended < 0 || back < ended {
		t.Errorf("the runner was ended by request %d, the deployment brought back by request %d", ended, back)
	}
	check(t, "left", site.api.Names(), []string{"deployments system/control"})
}
