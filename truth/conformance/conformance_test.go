package conformance

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/cli/root"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
)

// The suite's pod, with all rights: it makes and removes what it likes.
//
//go:embed suite.yaml
var suiteManifest string

// limit bounds the suite.
const limit = 15 * time.Minute

// TestMain makes this executable gatemark in truth's pods.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "truth" {
		os.Exit(root.Main())
	}
	os.Exit(m.Run())
}

// TestConformance installs truth in a cluster of the test's own and runs the
// suite in a pod of it: this executable, with TestSuite.
func TestConformance(t *testing.T) {
	if os.Getenv("GATEMARK_CONFORMANCE") != "1" {
		t.Skip("takes minutes: make conformance")
	}
	cluster := localtest.StartNode(t)
	config, err := cluster.RESTConfig()
	must(t, err)
	images := &image.Builder{Choice: image.PreferSource, Progress: progress.New(os.Stderr)}
	load := func(ctx context.Context, i image.Image) error { return cluster.LoadImage(ctx, i.Tar) }
	truth, err := implementation.Find("truth")
	must(t, err)
	installer := &install.Installer{Config: config, Images: images, LoadImage: load, Progress: progress.New(os.Stderr), Run: "conformance"}
	installed, err := installer.Install(t.Context(), truth, "")
	must(t, err)
	echo, err := images.Build(t.Context(), image.Recipe{Name: "echo-basic", Version: moduleVersion(t), Files: []image.File{{Path: "/echo-basic", Go: &image.GoProgram{
		Module: module, Version: moduleVersion(t), Package: module + "/echo-basic",
		// The suite's module says where the API's lies in their repository.
		Replaces: []string{"sigs.k8s.io/gateway-api => sigs.k8s.io/gateway-api@" + moduleVersion(t)},
	}}}})
	must(t, err)
	must(t, load(t.Context(), echo))
	c, err := kube.New(t.Context(), config, kube.Agent("test"))
	must(t, err)
	report := runSuite(t, c, map[string]string{
		"Image": installed.Images[0].Ref, "Echo": echo.Ref, "Class": installed.GatewayClass,
		"Only": os.Getenv("GATEMARK_CONFORMANCE_TEST"), "Limit": limit.String(),
	})
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
