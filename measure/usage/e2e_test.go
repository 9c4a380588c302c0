package usage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/usage"
)

const burners = `
apiVersion: v1
kind: Namespace
metadata: {name: run}
---
apiVersion: v1
kind: Namespace
metadata:
  name: strict
  labels: {pod-security.kubernetes.io/enforce: baseline}
---
apiVersion: v1
kind: Secret
metadata: {name: runner, namespace: run}
stringData: {token: secret}
{{- range .Pods}}
---
apiVersion: v1
kind: Pod
metadata: {name: {{.}}, namespace: run}
spec:
  automountServiceAccountToken: false
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: burner
    image: {{$.Image}}
    imagePullPolicy: IfNotPresent
    command: [/usr/local/bin/burner]
{{- end}}
`

// A lab is a cluster with samplers and programs that know what they use.
type lab struct {
	*testing.T
	kube     *kube.Client
	image    string
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	http     *http.Client
	pods     map[string]*corev1.Pod
	observer *usage.Observer
}

// TestKnownUse holds the samplers against programs that know what they use, one
// of which dies half way, in windows of 10 s and more.
func TestKnownUse(t *testing.T) {
	l := startLab(t)
	t.Run("forbidden", l.forbidden)
	t.Run("known", l.known)
	t.Run("under way", l.underWay)
	t.Run("kubelets", l.kubelets)
}

// known: what each has used after a window of 10 s, within which all begins and
// ends.
func (l *lab) known(t *testing.T) {
	const memory, steadyDatagrams, mortalDatagrams, wire = 256 << 20, 30_000, 20_000, 1400 + 8 + 20 + 14
	to := net.JoinHostPort(l.pods["sink"].Status.PodIP, "9000")
	steadyBefore, mortalBefore := l.use(t, "steady", ""), l.use(t, "mortal", "")
	must(t, l.observer.Edge(t.Context()))
	from := time.Now()
	type outcome struct{ cpu int64 }
	mortal := make(chan outcome, 1)
	go func() {
		time.Sleep(3 * time.Second)
		l.use(t, "mortal", "burn=1s")
		mortal <- outcome{l.use(t, "mortal", fmt.Sprintf("burn=500ms&send=%d&to=%s&end=true", mortalDatagrams, to)).CPU}
	}()
	l.use(t, "steady", fmt.Sprintf("touch=%d", memory))
	steadyAfter := l.use(t, "steady", fmt.Sprintf("burn=4s&send=%d&to=%s", steadyDatagrams, to))
	mortalAfter := <-mortal
	if rest := 10*time.Second - time.Since(from); rest > 0 {
		time.Sleep(rest)
	}
	must(t, l.observer.Edge(t.Context()))
	w := l.observer.Window(from, time.Now(), byName)
	l.log(t, w)
	within(t, "CPU of what lives", w.Uses["steady"].CPU, seconds(steadyAfter.CPU-steadyBefore.CPU))
	within(t, "CPU of what died", w.Uses["mortal"].CPU, seconds(mortalAfter.cpu-mortalBefore.CPU))
	within(t, "memory", w.Uses["steady"].End-w.Uses["steady"].Begin, memory)
	within(t, "bytes sent by what lives", w.Uses["steady"].Out, steadyDatagrams*wire)
	within(t, "bytes sent by what died", w.Uses["mortal"].Out, mortalDatagrams*wire)
	within(t, "bytes received", w.Uses["sink"].In, (steadyDatagrams+mortalDatagrams)*wire)
	if w.Uses["mortal"].End != 0 || w.Uses["mortal"].Begin == 0 {
		t.Errorf("what died held %v at first and %v at last", w.Uses["mortal"].Begin, w.Uses["mortal"].End)
	}
	for _, component := range []string{"etcd", "kube-apiserver", "kubelet", "containerd"} {
		if w.Uses[component].CPU <= 0 || w.Uses[component].End <= 0 {
			t.Errorf("%s used %+v", component, w.Uses[component])
		}
	}
	if w.Gap > 5*time.Second || len(w.Faults) > 0 {
		t.Errorf("%v without a sample on %s, faults %v", w.Gap, w.GapNode, w.Faults)
	}
}

// underWay: the edges of a window lie in the middle of the work.
func (l *lab) underWay(t *testing.T) {
	done := make(chan struct{})
	go func() {
		l.use(t, "steady", "burn=6s")
		close(done)
	}()
	time.Sleep(300 * time.Millisecond)
	from, before := time.Now(), l.use(t, "steady", "")
	must(t, l.observer.Edge(t.Context()))
	time.Sleep(10 * time.Second)
	to, after := time.Now(), l.use(t, "steady", "")
	must(t, l.observer.Edge(t.Context()))
	w := l.observer.Window(from, to, byName)
	within(t, "CPU", w.Uses["steady"].CPU, seconds(after.CPU-before.CPU))
	<-done
}

// forbidden: where pods may not look at their node, the API server says so.
func (l *lab) forbidden(t *testing.T) {
	s := usage.Samplers{Namespace: "strict", Run: "r1", Image: l.image, Secret: "runner", Interval: time.Second}
	if err := usage.Allowed(t.Context(), l.kube, s); !errors.Is(err, usage.ErrForbidden) {
		t.Errorf("error %v", err)
	}
	s.Namespace = "run"
	if err := usage.Allowed(t.Context(), l.kube, s); err != nil {
		t.Error(err)
	}
}

// kubelets know the pods too.
func (l *lab) kubelets(t *testing.T) {
	ob, err := usage.Start(t.Context(), usage.Options{Kube: l.kube, Kubelets: true})
	must(t, err)
	defer ob.Close()
	now := time.Now()
	w := ob.Window(now.Add(-time.Minute), now, byName)
	if u := w.Uses["steady"]; u.Members != 1 || !(u.End > 200<<20) {
		t.Errorf("the kubelet knows of the program: %+v; faults %v", u, w.Faults)
	}
}

// byName makes every pod and component a role of its own.
func byName(m usage.Member) string {
	if m.Pod != nil {
		return m.Pod.Name
	}
	return m.Name
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// within holds a number to 1 % of the truth.
func within(t *testing.T, what string, got, want float64) {
	t.Helper()
	off := got/want - 1
	t.Logf("%s: %.6g of %.6g, %+.3f %%", what, got, want, 100*off)
	if !(math.Abs(off) <= 0.01) {
		t.Errorf("%s: %v, want %v: off by %.2f %%", what, got, want, 100*off)
	}
}

func (l *lab) log(t *testing.T, w *usage.Window) {
	for _, m := range w.Each {
		t.Logf("%s: CPU %.3f s, memory %.1f, %.1f, peak %.1f MiB, in %.0f, out %.0f", m.Member, m.CPU, m.Begin/(1<<20), m.End/(1<<20), m.Peak/(1<<20), m.In, m.Out)
	}
	t.Logf("rest: %+v; longest gap %v", w.Uses[usage.Rest], w.Gap)
}

type used struct {
	CPU       int64 `json:"cpu"`
	Datagrams int   `json:"datagrams"`
}

// use has a program use what the query says.
func (l *lab) use(t *testing.T, pod, query string) used {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(l.pods[pod].Status.PodIP, "8080")+"/use?"+query, nil)
	if err != nil {
		t.Error(err)
		return used{}
	}
	res, err := l.http.Do(req)
	if err != nil {
		t.Errorf("%s, %s: %v", pod, query, err)
		return used{}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	var u used
	if err == nil {
		err = json.Unmarshal(text, &u)
	}
	if err != nil {
		t.Errorf("%s, %s: %s, %q: %v", pod, query, res.Status, text, err)
	}
	return u
}

func startLab(t *testing.T) *lab {
	t.Helper()
	cluster := localtest.StartNode(t)
	config, err := cluster.RESTConfig()
	must(t, err)
	c, err := kube.New(t.Context(), config)
	must(t, err)
	l := &lab{T: t, kube: c, image: images(t, cluster), dial: localtest.Inside(t, cluster), pods: map[string]*corev1.Pod{}}
	l.http = &http.Client{Transport: &http.Transport{DialContext: l.dial, DisableKeepAlives: true}}
	names := []string{"steady", "mortal", "sink"}
	objects, err := kube.Render("burners", burners, map[string]any{"Image": l.image, "Pods": names})
	must(t, err)
	must(t, kube.Apply(t.Context(), c, objects[:3]...))
	samplers := usage.Samplers{Namespace: "run", Run: "r1", Image: l.image, Secret: "runner", Interval: time.Second}
	// It waits for the namespace's service account too.
	must(t, usage.Allowed(t.Context(), c, samplers))
	must(t, usage.Install(t.Context(), c, samplers))
	must(t, kube.Apply(t.Context(), c, objects[3:]...))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, name := range names {
		l.pods[name], err = kube.Wait(ctx, c, "pod "+name, client.ObjectKey{Namespace: "run", Name: name}, func(p *corev1.Pod) (bool, string) {
			return p.Status.Phase == corev1.PodRunning && p.Status.PodIP != "", string(p.Status.Phase)
		})
		must(t, err)
	}
	l.observer, err = usage.Start(t.Context(), usage.Options{Kube: c, Namespace: "run", Token: "secret", Dial: l.dial})
	must(t, err)
	t.Cleanup(l.observer.Close)
	// What starting them cost is over.
	time.Sleep(time.Second)
	return l
}

// images packs gatemark as it is here, and the program.
func images(t *testing.T, cluster *local.Cluster) string {
	t.Helper()
	dir := t.TempDir()
	var files []image.File
	for name, path := range map[string]string{"gatemark": "github.com/gatemark/gatemark/cmd/gatemark", "burner": "./testdata/burner"} {
		program := filepath.Join(dir, name)
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, path)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
		file := image.File{Path: "/usr/local/bin/" + name, Executable: program}
		if name == "gatemark" {
			files = append([]image.File{file}, files...) // the first is the entry point
		} else {
			files = append(files, file)
		}
	}
	builder := image.Builder{Dir: t.TempDir(), Progress: progress.New(os.Stderr)}
	built, err := builder.Build(t.Context(), image.Recipe{Name: "gatemark", Version: "test", Files: files})
	must(t, err)
	must(t, cluster.LoadImage(t.Context(), built.Tar))
	return built.Ref
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
