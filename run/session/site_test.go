package session

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/run/transfer"
)

// A site is a cluster in memory in which pods run scripts, reached through one
// address, as an API server is: what goes to a pod's proxy goes to its script.
type site struct {
	t    *testing.T
	api  *fakeapi.Server
	kube *kube.Client
	said bytes.Buffer
	// script is what the runner says of itself when it is asked for the nth
	// time, from 1 on.
	script func(r *pod, n int) transfer.Status
	// born is called with each new pod.
	born func(r *pod)
	// away answers nothing; damage changes what pods answer.
	away   atomic.Bool
	damage func(path string, body []byte) []byte

	mu      sync.Mutex
	token   string
	config  run.Config
	started []*pod
}

// A pod is a runner with a disk of its own.
type pod struct {
	*site
	config  run.Config
	dir     result.Directory
	handler http.Handler
	asked   int
	// number counts the run's runners from 1 on.
	number int
	phase  corev1.PodPhase
	// mute refuses every connection to it.
	mute atomic.Bool
}

const runID = "20260101-000000-abcd"

func startSite(t *testing.T, script func(r *pod, n int) transfer.Status) *site {
	t.Helper()
	core, rbac := corev1.SchemeGroupVersion, rbacv1.SchemeGroupVersion
	s := &site{t: t, script: script, born: func(*pod) {}, api: fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: core.WithKind("Namespace"), Name: "namespaces"},
		fakeapi.Resource{GroupVersionKind: core.WithKind("ServiceAccount"), Name: "serviceaccounts", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Secret"), Name: "secrets", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("ConfigMap"), Name: "configmaps", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Name: "deployments", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: rbac.WithKind("ClusterRole"), Name: "clusterroles"},
		fakeapi.Resource{GroupVersionKind: rbac.WithKind("ClusterRoleBinding"), Name: "clusterrolebindings"},
		fakeapi.Resource{GroupVersionKind: rbac.WithKind("Role"), Name: "roles", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: rbac.WithKind("RoleBinding"), Name: "rolebindings", Namespaced: true},
	)}
	to, err := url.Parse(s.api.URL)
	if err != nil {
		t.Fatal(err)
	}
	back := httputil.NewSingleHostReverseProxy(to)
	back.FlushInterval = -1
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, back) }))
	t.Cleanup(func() {
		s.api.CutWatches()
		front.CloseClientConnections()
		front.Close()
	})
	if s.kube, err = kube.New(t.Context(), &rest.Config{Host: front.URL}); err != nil {
		t.Fatal(err)
	}
	s.kube.WithWatch = interceptor.NewClient(s.kube.WithWatch, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			return s.apply(obj)
		},
	})
	return s
}

const proxied = "/api/v1/namespaces/gatemark-" + runID + "/pods/runner:8080/proxy"

func (s *site) serve(w http.ResponseWriter, r *http.Request, back http.Handler) {
	path, toPod := strings.CutPrefix(r.URL.Path, proxied)
	if s.away.Load() {
		http.Error(w, "no leader", http.StatusServiceUnavailable)
		return
	}
	if !toPod {
		back.ServeHTTP(w, r)
		return
	}
	runner := s.runner()
	if runner == nil || runner.mute.Load() {
		http.Error(w, "error trying to reach service: connection refused", http.StatusServiceUnavailable)
		return
	}
	r.URL.Path = path
	record := httptest.NewRecorder()
	runner.handler.ServeHTTP(record, r)
	body := record.Body.Bytes()
	if s.damage != nil {
		body = s.damage(path, body)
	}
	for name, values := range record.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(record.Code)
	w.Write(body) //nolint:errcheck // the session went away
}

// runner is the pod that is there now.
func (s *site) runner() *pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.api.Names() {
		if name == "pods gatemark-"+runID+"/runner" && len(s.started) > 0 {
			return s.started[len(s.started)-1]
		}
	}
	return nil
}

// apply does what an API server and a kubelet would.
func (s *site) apply(obj any) error {
	data, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &u.Object); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch u.GetKind() {
	case "Secret":
		s.token, _, err = unstructured.NestedString(u.Object, "stringData", "token")
		secret := &corev1.Secret{Data: map[string][]byte{"token": []byte(s.token)}}
		secret.APIVersion, secret.Kind, secret.Namespace, secret.Name = "v1", "Secret", u.GetNamespace(), u.GetName()
		s.api.Put(s.t, secret)
		return err
	case "ConfigMap":
		text, _, _ := unstructured.NestedString(u.Object, "data", "config.json")
		s.config = run.Config{}
		if err := json.Unmarshal([]byte(text), &s.config); err != nil {
			return err
		}
	case "Pod":
		if err := unstructured.SetNestedField(u.Object, string(s.start().phase), "status", "phase"); err != nil {
			return err
		}
	}
	s.api.Put(s.t, u)
	return nil
}

func (s *site) start() *pod {
	r := &pod{site: s, config: s.config, dir: result.Directory(s.t.TempDir()), number: len(s.started) + 1, phase: corev1.PodRunning}
	r.handler = transfer.Handler(s.token, r.dir, func() transfer.Status {
		r.asked++
		return s.script(r, r.asked)
	})
	s.born(r)
	s.started = append(s.started, r)
	return r
}

// session is a user's session on the run, with its results in dir.
func (s *site) session(dir result.Directory) *Session {
	return &Session{
		Kube: s.kube, Image: "gatemark:test", Dir: dir, Poll: time.Millisecond, Progress: progress.New(&s.said),
		Config: run.Config{RunID: runID, Plan: &plan.Plan{}, Schedule: []result.TrialRef{
			{ID: "b01-a", Implementation: "i", Scenario: "s", Block: 1}, {ID: "b01-b", Implementation: "i", Scenario: "s", Block: 1}}},
		limits: limits{lost: 200 * time.Millisecond, away: time.Minute, damage: time.Minute, pause: time.Microsecond},
	}
}

// finish writes a trial on the runner's disk, once.
func (r *pod) finish(id string, outcome result.Outcome) {
	if _, err := os.Stat(r.dir.TrialPath(id)); err == nil {
		return
	}
	trial := &result.Trial{SchemaVersion: result.SchemaVersion, ID: id, Outcome: outcome, Reason: "of " + id}
	if outcome == result.OK {
		trial.Reason = ""
	}
	if err := r.dir.WriteTrial(trial, map[string][]byte{"log.txt": bytes.Repeat([]byte("0123456789"), 1000)}); err != nil {
		r.t.Error(err)
	}
}

// kill takes the pod away, as a lost node does.
func (r *pod) kill() { r.api.Delete("pods", "gatemark-"+runID, "runner") }

func at(current string) transfer.Status {
	return transfer.Status{RunID: runID, Planned: 2, Current: current, Since: time.Now()}
}

func done() transfer.Status {
	return transfer.Status{RunID: runID, Planned: 2, Finished: 2, Done: true}
}
