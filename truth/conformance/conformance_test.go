package conformance

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/internal/kubetest"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/pods"
)

// The suite's pod, with all rights: it makes and removes what it likes.
//
//go:embed suite.yaml
var suiteManifest string

// limit bounds the suite.
const limit = 15 * time.Minute

// TestConformance installs truth in a cluster of the test's own and runs the
// suite in a pod of it: this executable, with TestSuite.
func TestConformance(t *testing.T) {
	if os.Getenv("GATEMARK_CONFORMANCE") != "1" {
		t.Skip("takes minutes: make conformance")
	}
	cluster := localtest.StartNode(t)
	config, err := cluster.RESTConfig()
	must(t, err)
	c, err := kube.New(t.Context(), config, kube.Agent("test"))
	must(t, err)
	kubetest.InstallGatewayAPI(t, c)
	must(t, pods.Installation{Image: ownImage(t, cluster), Replicas: 2}.Install(limited(t, 2*time.Minute), c))
	executable, err := os.Executable()
	must(t, err)
	suite := load(t, cluster, image.Recipe{Name: "suite", Version: "test", Files: []image.File{{Path: "/suite", Executable: executable}}})
	echo := load(t, cluster, image.Recipe{Name: "echo-basic", Version: moduleVersion(t), Files: []image.File{{Path: "/echo-basic", Go: &image.GoProgram{
		Module: module, Version: moduleVersion(t), Package: module + "/echo-basic",
		// The suite's module says where the API's lies in their repository.
		Replaces: []string{"sigs.k8s.io/gateway-api => sigs.k8s.io/gateway-api@" + moduleVersion(t)},
	}}}})
	report := runSuite(t, c, map[string]string{"Image": suite, "Echo": echo, "Class": pods.Class, "Only": os.Getenv("GATEMARK_CONFORMANCE_TEST"), "Limit": limit.String()})
	if file := os.Getenv("GATEMARK_CONFORMANCE_REPORT"); file != "" && report != "" {
		must(t, os.WriteFile(file, []byte(report), 0o644))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func limited(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// load makes an image and gives it to the cluster.
func load(t *testing.T, cluster *local.Cluster, r image.Recipe) string {
	t.Helper()
	images := image.Builder{Choice: image.PreferSource, Progress: progress.New(os.Stderr)}
	built, err := images.Build(t.Context(), r)
	must(t, err)
	must(t, cluster.LoadImage(t.Context(), built.Tar))
	return built.Ref
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
	return load(t, cluster, image.Recipe{Name: "gatemark", Version: "test", Files: []image.File{{Path: "/usr/local/bin/gatemark", Executable: program}}})
}

// module is the suite's own.
const module = "sigs.k8s.io/gateway-api/conformance"

// moduleVersion is the one that this executable was built with.
func moduleVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module).Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// runSuite shows the suite's log as it comes and returns its report.
func runSuite(t *testing.T, c *kube.Client, data map[string]string) string {
	t.Helper()
	objects, err := kube.Render("suite.yaml", suiteManifest, data)
	must(t, err)
	must(t, kube.Apply(t.Context(), c, objects...))
	ctx := limited(t, limit+time.Minute)
	key := client.ObjectKey{Namespace: "conformance", Name: "suite"}
	_, err = kube.Wait(ctx, c, "pod "+key.String(), key, func(p *corev1.Pod) (bool, string) {
		return p.Status.Phase != corev1.PodPending, string(p.Status.Phase)
	})
	must(t, err)
	log, err := c.Clientset.CoreV1().Pods(key.Namespace).GetLogs(key.Name, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	must(t, err)
	defer log.Close()
	report := readLog(t, log)
	_, err = kube.Wait(ctx, c, "pod "+key.String(), key, func(p *corev1.Pod) (bool, string) {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed, string(p.Status.Phase)
	})
	must(t, err)
	pod := new(corev1.Pod)
	must(t, c.Get(ctx, key, pod))
	if pod.Status.Phase != corev1.PodSucceeded {
		t.Error("the suite failed")
	}
	if report == "" {
		t.Error("the suite wrote no report")
	}
	return report
}

// readLog shows a log and cuts the report out of it.
func readLog(t *testing.T, log io.Reader) string {
	t.Helper()
	var report strings.Builder
	in := false
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		switch {
		case strings.TrimSpace(line) == reportBegins:
			in = true
		case strings.TrimSpace(line) == reportEnds:
			in = false
		case in:
			report.WriteString(line)
		case line != "":
			t.Output().Write([]byte(line))
		}
		if errors.Is(err, io.EOF) {
			return report.String()
		}
		must(t, err)
	}
}
