package binaries

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
)

// A target is one go build: packages of one module into one place.
type target struct {
	name     string // of the step
	module   string // folder below the source
	out      string // below the node directory: a folder where it ends in "/"
	packages []string
	tags     string
	cgo      bool
	// stamped has the module's Kubernetes version linked in.
	stamped bool
}

var targets = []target{
	{name: "Kubernetes", module: ".", out: "node", packages: []string{"."}, stamped: true},
	{name: "pause", module: ".", out: "pause", packages: []string{"./pause"}},
	{
		name: "containerd", module: "runtime", out: "./",
		packages: []string{
			"github.com/containerd/containerd/v2/cmd/containerd",
			"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
			"github.com/containerd/containerd/v2/cmd/ctr",
		},
		tags: "no_btrfs,no_devmapper,no_zfs",
	},
	{name: "runc", module: "runtime", out: "runc", packages: []string{"github.com/opencontainers/runc"}, tags: "seccomp", cgo: true},
	{
		name: "CNI plugins", module: "runtime", out: "cni/",
		packages: []string{
			"github.com/containernetworking/plugins/plugins/ipam/host-local",
			"github.com/containernetworking/plugins/plugins/main/loopback",
			"github.com/containernetworking/plugins/plugins/main/ptp",
			"github.com/containernetworking/plugins/plugins/meta/portmap",
		},
	},
}

// Build builds what is missing or out of date in dir from source, one step
// for each target. The Go toolchain's cache makes a rebuild a matter of
// seconds; the first build takes minutes. Where nothing is to be done, it
// needs neither the toolchain nor the right to write.
func Build(ctx context.Context, source, dir string, p *progress.Printer) error {
	if todo, err := stale(source, dir); err != nil || len(todo) == 0 {
		return err
	}
	if err := checkTools(); err != nil {
		return err
	}
	unlock, err := lock(dir)
	if err != nil {
		return fmt.Errorf("building the node's programs: %w", err)
	}
	defer unlock()
	// Another may have built them while this one waited for the lock.
	todo, err := stale(source, dir)
	if err != nil {
		return err
	}
	for _, t := range todo {
		err := p.Do(ctx, "build "+t.name, func(ctx context.Context, update func(string, ...any)) error {
			return t.build(ctx, source, dir, update)
		})
		if err != nil {
			return err
		}
		if err := t.record(source, dir); err != nil {
			return err
		}
	}
	return nil
}

func checkTools() error {
	var missing []string
	if _, err := exec.LookPath("go"); err != nil {
		missing = append(missing, "go")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		missing = append(missing, "gcc")
	}
	if _, err := exec.LookPath("pkg-config"); err != nil {
		missing = append(missing, "pkg-config")
	} else if err := exec.Command("pkg-config", "--exists", "libseccomp").Run(); err != nil {
		missing = append(missing, "libseccomp's headers")
	}
	if len(missing) == 0 {
		return nil
	}
	return failure.Hint(fmt.Errorf("building the node's programs: this machine lacks %s", strings.Join(missing, ", ")),
		"on Debian: apt-get install gcc libc6-dev pkg-config libseccomp-dev; Go comes from its own site or package")
}

func (t target) build(ctx context.Context, source, dir string, update func(string, ...any)) error {
	module := filepath.Join(source, t.module)
	flags := "-s -w"
	if t.stamped {
		update("downloading modules")
		version, err := kubernetesVersion(ctx, module)
		if err != nil {
			return err
		}
		flags += versionFlags(version)
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", t.tags, "-ldflags", flags, "-o", t.output(dir)}
	cmd := exec.CommandContext(ctx, "go", append(args, t.packages...)...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if t.cgo {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	update("compiling, which takes minutes the first time")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s in %s: %s: %w\n%s", t.name, module, strings.Join(cmd.Args, " "), err, tail(out, 20))
	}
	return nil
}

func (t target) output(dir string) string {
	out := filepath.Join(dir, t.out)
	if strings.HasSuffix(t.out, "/") {
		out += "/"
	}
	return out
}

// kubernetesVersion asks the module which Kubernetes it builds.
func kubernetesVersion(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its Kubernetes version: %w\n%s", module, err, tail(stderr.Bytes(), 10))
	}
	return strings.TrimSpace(string(out)), nil
}

// versionFlags links the version in: Kubernetes' own build does the same,
// and charts refuse to install on the version zero of a plain build.
func versionFlags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var flags strings.Builder
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		fmt.Fprintf(&flags, " -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean", pkg, version, major, minor)
	}
	return flags.String()
}

func tail(out []byte, n int) string {
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "  " + strings.Join(lines, "\n  ")
}

// platform is part of every stamp.
func platform() string { return runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH }
