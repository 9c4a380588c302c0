package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gatemark/gatemark/cluster/local/layout"
	"golang.org/x/sys/unix"
)

// hidden are the host's directories that components write to at fixed paths.
// The cluster sees an empty one of its own in each place, so that it neither
// leaves files there nor meets those of the host's own container runtime.
var hidden = []string{"/run", "/var/lib", "/var/log", "/etc/cni", "/etc/containerd", "/etc/kubernetes", "/opt"}

// setUpMounts makes the mounts of the cluster's own mount namespace. The
// directories in keep stay visible, wherever they are.
func setUpMounts(dir layout.Dir, keep ...string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := hide(keep); err != nil {
		return err
	}
	for _, m := range []struct{ source, target string }{
		{dir.Kubelet(), "/var/lib/kubelet"},
		{dir.VarLog(), "/var/log"},
	} {
		if err := bind(m.source, m.target); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := shadowSysctls(); err != nil {
		return err
	}
	// Mounts that a pod makes with bidirectional propagation must reach the
	// node, but not the host.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("making mounts shared within the cluster: %w", err)
	}
	return nil
}

// hide covers the hidden directories, and puts back what must stay visible.
func hide(keep []string) error {
	handles := make([]*os.File, len(keep))
	for i, dir := range keep {
		f, err := os.Open(dir)
		if err != nil {
			return fmt.Errorf("keeping %s visible: %w", dir, err)
		}
		defer f.Close()
		handles[i] = f
	}
	var covered []string
	for _, dir := range hidden {
		// /var/run and the like may lead into one that is covered already.
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("hiding %s: %w", dir, err)
		}
		if err := unix.Mount("gatemark", real, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
			return fmt.Errorf("hiding %s: %w", real, err)
		}
		covered = append(covered, real)
	}
	for i, dir := range keep {
		if !below(dir, covered) {
			continue
		}
		if err := bind(fmt.Sprintf("/proc/self/fd/%d", handles[i].Fd()), dir); err != nil {
			return err
		}
	}
	return nil
}

func below(dir string, covered []string) bool {
	for _, c := range covered {
		if dir == c || strings.HasPrefix(dir, c+"/") {
			return true
		}
	}
	return false
}

// bind mounts source on target, a directory that is made where it is missing.
func bind(source, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", source, target, err)
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", source, target, err)
	}
	return nil
}

// kubeletSysctls belong to the whole machine. kubelet insists on these values
// and would set them for good; it is shown them instead.
var kubeletSysctls = map[string]string{
	"kernel/keys/root_maxbytes": "25000000",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
}

func shadowSysctls() error {
	if err := os.Mkdir("/run/sysctl", 0o755); err != nil {
		return fmt.Errorf("shadowing sysctls: %w", err)
	}
	for name, value := range kubeletSysctls {
		source := filepath.Join("/run/sysctl", strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(source, []byte(value+"\n"), 0o444); err != nil {
			return fmt.Errorf("shadowing sysctl %s: %w", name, err)
		}
		err := unix.Mount(source, filepath.Join("/proc/sys", name), "", unix.MS_BIND, "")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("shadowing sysctl %s: %w", name, err)
		}
	}
	return nil
}

// snapshotter returns containerd's way of layering images that works on the
// file system of dir: overlayfs cannot lie on every file system, not on
// another overlayfs for one, which is what a container has.
func snapshotter(dir layout.Dir) (string, error) {
	probe, err := os.MkdirTemp(string(dir), "overlay-")
	if err != nil {
		return "", fmt.Errorf("probing for overlayfs: %w", err)
	}
	defer os.RemoveAll(probe)
	for _, sub := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(probe, sub), 0o755); err != nil {
			return "", fmt.Errorf("probing for overlayfs: %w", err)
		}
	}
	merged := filepath.Join(probe, "merged")
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", probe)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return "native", nil
	}
	if err := unix.Unmount(merged, 0); err != nil {
		return "", fmt.Errorf("probing for overlayfs: %w", err)
	}
	return "overlayfs", nil
}
