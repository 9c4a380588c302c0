// Package conformance runs the Gateway API's conformance suite against truth.
package conformance

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"testing"
	"testing/fstest"

	gatewayconformance "sigs.k8s.io/gateway-api/conformance"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/yaml"

	"github.com/gatemark/gatemark/internal/build"
)

// Lines around the report in the pod's log.
const (
	reportBegins = "=== REPORT BEGINS"
	reportEnds   = "=== REPORT ENDS"
)

// TestSuite is the suite, in a pod: see TestConformance. What truth supports
// is what its GatewayClass says.
func TestSuite(t *testing.T) {
	class := os.Getenv("GATEMARK_SUITE_CLASS")
	if class == "" {
		t.Skip("runs in a pod: make conformance")
	}
	o := gatewayconformance.DefaultOptions(t)
	o.GatewayClassName, o.RunTest = class, os.Getenv("GATEMARK_SUITE_ONLY")
	o.ConformanceProfiles = []suite.ConformanceProfileName{
		suite.GatewayHTTPConformanceProfileName, suite.GatewayGRPCConformanceProfileName, suite.GatewayTLSConformanceProfileName,
	}
	o.Implementation = confv1.Implementation{
		Organization: "gatemark", Project: "truth", URL: "https://github.com/gatemark/gatemark",
		Version: cmp.Or(build.Current().Commit, build.Current().Version), Contact: []string{"https://github.com/gatemark/gatemark/issues"},
	}
	o.ManifestFS = []fs.FS{manifests(t, os.Getenv("GATEMARK_SUITE_ECHO"))}
	s, err := suite.NewConformanceTestSuite(o)
	must(t, err)
	s.Setup(t, tests.ConformanceTests)
	// The suite counts tests that run in parallel before they have ended, as
	// passed: its report is true only where all of them did.
	if !t.Run("tests", func(t *testing.T) { must(t, s.Run(t, tests.ConformanceTests)) }) {
		t.Fatal("no report is written")
	}
	report, err := s.Report()
	must(t, err)
	text, err := yaml.Marshal(report)
	must(t, err)
	fmt.Printf("%s\n%s%s\n", reportBegins, text, reportEnds)
}

var backendImage = regexp.MustCompile(`image: \S*/(echo-basic|coredns):\S+`)

// manifests are the suite's, with our own build of its backend. It also stands
// in for CoreDNS, which must run though only tests of UDPRoute ask it.
func manifests(t *testing.T, image string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(gatewayconformance.Manifests, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(gatewayconformance.Manifests, name)
		files[name] = &fstest.MapFile{Data: backendImage.ReplaceAll(text, []byte("image: "+image)), Mode: 0o644}
		return err
	})
	must(t, err)
	return files
}

// TestManifests: every backend of the suite is replaced.
func TestManifests(t *testing.T) {
	files := manifests(t, "example.test/echo-basic:1")
	ours, others := 0, 0
	err := fs.WalkDir(files, "base", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		for _, image := range regexp.MustCompile(`image: \S+`).FindAll(text, -1) {
			if string(image) == "image: example.test/echo-basic:1" {
				ours++
			} else {
				others++
			}
		}
		return err
	})
	if err != nil || ours == 0 || others > 0 {
		t.Errorf("%d images are ours, %d are not, %v", ours, others, err)
	}
}
