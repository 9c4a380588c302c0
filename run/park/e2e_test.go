package park_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/cli/clean"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/run/session"
	"github.com/google/go-cmp/cmp"
)

// childVariable holds, in the child that parks, the path of a kubeconfig.
const childVariable = "GATEMARK_TEST_PARK"

// TestMain makes the test binary its own child: one that can be killed.
func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // as gatemark itself does
	kubeconfig := os.Getenv(childVariable)
	if kubeconfig == "" {
		os.Exit(m.Run())
	}
	if err := child(kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child parks and restores the installation that it reads from its input. It
// tells each step, and goes on when it is told so.
func child(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := kube.New(ctx, config)
	if err != nil {
		return err
	}
	input := bufio.NewReader(os.Stdin)
	text, err := input.ReadBytes('\n')
	if err != nil {
		return err
	}
	var in park.Installation
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	parker := &park.Parker{Kube: c, Run: "r1", Namespace: session.Namespace("r1"), Step: func(what string) {
		fmt.Println(what)
		input.ReadBytes('\n') //nolint:errcheck // the parent ends us by a signal
	}}
	if _, err := parker.Park(ctx, in); err != nil {
		return err
	}
	_, err = parker.Restore(ctx, in.Name)
	return err
}

// A ground is a cluster with Envoy Gateway, a Gateway of run r1, and
// Deployments of somebody else.
type ground struct {
	*testing.T
	kube       *kube.Client
	kubeconfig string
	in         park.Installation
}

// TestParkedTwentyTimes: parked and brought back, and killed in between at
// five of them, at each kind of step; then gatemark clean brings back what was,
// and what the run did not install was never written to.
func TestParkedTwentyTimes(t *testing.T) {
	g := prepare(t)
	parts, theirs := g.mine(), g.theirs()
	t.Logf("what is to be brought back: %v", parts)
	// How many steps a round gets; those that are not named get all.
	kills := map[int]int{1: 2, 5: 1, 9: 4, 13: 5, 19: 6}
	for round := range 20 {
		began := time.Now()
		switch round {
		case 2: // from here on pods wait for a node, which takes less time
			g.cordon(true)
		case 18:
			g.cordon(false)
		}
		g.namespace()
		steps := g.round(kills[round])
		if kill, killed := kills[round]; killed {
			if len(steps) != kill {
				t.Fatalf("round %d: steps %q, want %d", round, steps, kill)
			}
			g.clean()
		} else if len(steps) != 6 {
			t.Fatalf("round %d: steps %q", round, steps)
		}
		if diff := cmp.Diff(parts, g.mine()); diff != "" {
			t.Fatalf("round %d, after %q (-want +got):\n%s", round, steps, diff)
		}
		if diff := cmp.Diff(theirs, g.theirs()); diff != "" {
			t.Fatalf("round %d wrote to what is somebody else's (-want +got):\n%s", round, diff)
		}
		t.Logf("round %d: %d steps, %.1f s", round, len(steps), time.Since(began).Seconds())
	}
	parker := &park.Parker{Kube: g.kube, Run: "r1", Namespace: session.Namespace("r1")}
	must(t, parker.AwaitReady(t.Context(), g.in))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func prepare(t *testing.T) *ground {
	cluster := localtest.StartNode(t)
	config, err := cluster.RESTConfig()
	must(t, err)
	g := &ground{T: t, kubeconfig: cluster.Kubeconfig()}
	g.kube, err = kube.New(t.Context(), config)
	must(t, err)
	impl, err := implementation.Find("envoy-gateway")
	must(t, err)
	said := progress.New(os.Stderr)
	installer := &install.Installer{Config: config, Images: &image.Builder{Progress: said}, Run: "r1", Progress: said,
		LoadImage: func(ctx context.Context, img image.Image) error { return cluster.LoadImage(ctx, img.Tar) }}
	_, err = installer.Install(t.Context(), impl, "")
	must(t, err)
	g.in, err = run.Installation(impl)
	must(t, err)
	must(t, g.kube.Patch(t.Context(), deployment("envoy-gateway-system", "envoy-gateway"), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":2}}`))))
	g.gateway(impl.GatewayClass.Name)
	// By the same name elsewhere, and in the very namespace.
	g.foreign("theirs", "envoy-gateway", map[string]string{"control-plane": "envoy-gateway"})
	g.foreign("envoy-gateway-system", "theirs", map[string]string{"control-plane": "envoy-gateway"})
	return g
}

func deployment(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// gateway is one of the run, with a data plane. The part label keeps it when
// the run is cleaned.
func (g *ground) gateway(class string) {
	labels := kube.OwnedBy("r1", "")
	labels[install.PartLabel] = "test"
	must(g.T, g.kube.Create(g.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "infra", Labels: labels}}))
	gw := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "gw", Labels: labels}}
	gw.Spec.GatewayClassName = gatewayv1.ObjectName(class)
	gw.Spec.Listeners = []gatewayv1.Listener{{Name: "http", Protocol: gatewayv1.HTTPProtocolType, Port: 80}}
	must(g.T, g.kube.Create(g.Context(), gw))
	ctx, cancel := context.WithTimeout(g.Context(), 2*time.Minute)
	defer cancel()
	_, err := kube.WaitGateway(ctx, g.kube, client.ObjectKeyFromObject(gw))
	must(g.T, err)
}

// foreign is a Deployment of somebody else, whose pods fit on no node.
func (g *ground) foreign(namespace, name string, labels map[string]string) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	must(g.T, client.IgnoreAlreadyExists(g.kube.Create(g.Context(), ns)))
	d := deployment(namespace, name)
	pods := map[string]string{"app": "theirs"}
	d.Labels = labels
	d.Spec = appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: pods}}
	d.Spec.Template.Labels = pods
	d.Spec.Template.Spec = corev1.PodSpec{NodeSelector: map[string]string{"no": "node"}, Containers: []corev1.Container{{Name: "c", Image: "none"}}}
	must(g.T, g.kube.Create(g.Context(), d))
}

// mine is how many replicas the parts of the installation are to have.
func (g *ground) mine() map[string]int32 {
	g.Helper()
	found := map[string]int32{}
	for _, d := range g.deployments() {
		if d.Namespace == "envoy-gateway-system" && d.Name != "theirs" {
			found[d.Name] = *d.Spec.Replicas
		}
	}
	if len(found) != 2 {
		g.Fatalf("deployments of the installation: %v", found)
	}
	return found
}

// theirs is the generation and size of what is somebody else's: each write to
// a spec makes a generation.
func (g *ground) theirs() map[string][2]int64 {
	g.Helper()
	found := map[string][2]int64{}
	for _, d := range g.deployments() {
		if d.Namespace == "theirs" || d.Name == "theirs" {
			found[d.Namespace+"/"+d.Name] = [2]int64{d.Generation, int64(*d.Spec.Replicas)}
		}
	}
	if len(found) != 2 {
		g.Fatalf("deployments of somebody else: %v", found)
	}
	return found
}

func (g *ground) deployments() []appsv1.Deployment {
	g.Helper()
	var all appsv1.DeploymentList
	must(g.T, g.kube.List(g.Context(), &all))
	return all.Items
}

// namespace is where the restore manifests are.
func (g *ground) namespace() {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: session.Namespace("r1"), Labels: kube.OwnedBy("r1", "")}}
	must(g.T, client.IgnoreAlreadyExists(g.kube.Create(g.Context(), ns)))
}

// cordon keeps new pods off the node, or lets them on it again.
func (g *ground) cordon(on bool) {
	g.Helper()
	var nodes corev1.NodeList
	must(g.T, g.kube.List(g.Context(), &nodes))
	for i := range nodes.Items {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, on)
		must(g.T, g.kube.Patch(g.Context(), &nodes.Items[i], client.RawPatch(types.MergePatchType, patch)))
	}
}

// round lets a child park and restore, kills it at a step unless that is 0, and
// returns the steps that it took.
func (g *ground) round(kill int) (steps []string) {
	g.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+g.kubeconfig)
	var said bytes.Buffer
	cmd.Stderr = &said
	input, err := cmd.StdinPipe()
	must(g.T, err)
	output, err := cmd.StdoutPipe()
	must(g.T, err)
	must(g.T, cmd.Start())
	text, err := json.Marshal(g.in)
	must(g.T, err)
	_, err = fmt.Fprintf(input, "%s\n", text)
	must(g.T, err)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		steps = append(steps, lines.Text())
		if len(steps) == kill {
			must(g.T, cmd.Process.Kill())
			break
		}
		_, err := io.WriteString(input, "\n")
		must(g.T, err)
	}
	if err := cmd.Wait(); (err != nil) != (kill > 0) {
		g.Fatalf("after steps %q: %v\n%s", steps, err, &said)
	}
	return steps
}

// clean runs the command as a user would, after a crash.
func (g *ground) clean() {
	g.Helper()
	var out, said bytes.Buffer
	cmd := clean.New(cli.Streams{Out: &out, Err: &said})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--kubeconfig", g.kubeconfig, "--run", "r1"})
	if err := cmd.ExecuteContext(g.Context()); err != nil {
		g.Fatalf("%v\n%s", err, &said)
	}
	if !strings.Contains(said.String(), "brought back envoy-gateway") {
		g.Errorf("clean does not say what it brought back:\n%s", &said)
	}
}
