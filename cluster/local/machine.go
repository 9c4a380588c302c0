package local

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/gatemark/gatemark/cluster/local/cgroup"
	"github.com/gatemark/gatemark/internal/failure"
	"golang.org/x/sys/unix"
)

// A lack is something that a cluster needs and this machine has not.
type lack struct{ what, remedy string }

// checkMachine says everything that is missing at once.
func checkMachine(o Options) error {
	lacks := machineLacks(o.Mode, os.Geteuid() == 0)
	if len(lacks) == 0 {
		return nil
	}
	var what, remedies []string
	for _, l := range lacks {
		what = append(what, "  "+l.what)
		remedies = append(remedies, l.remedy)
	}
	err := fmt.Errorf("a cluster in mode %s cannot run on this machine:\n%s", o.Mode, strings.Join(what, "\n"))
	return failure.Hint(err, strings.Join(remedies, "\n"))
}

func machineLacks(mode Mode, root bool) []lack {
	var lacks []lack
	if runtime.GOOS != "linux" {
		return append(lacks, lack{"it is not Linux", "use a cluster of your own: gatemark run --context NAME"})
	}
	for _, ns := range []string{"net", "mnt", "pid", "ipc", "uts"} {
		if _, err := os.Stat("/proc/self/ns/" + ns); err != nil {
			lacks = append(lacks, lack{"the kernel has no " + ns + " namespaces", "use a kernel that is built with them"})
		}
	}
	if mode == ControlPlane {
		if !root {
			lacks = append(lacks, userNamespaceLacks()...)
		}
		return lacks
	}
	if !root {
		lacks = append(lacks, lack{"this user is not root", "run it as root, or with --mode control-plane"})
	}
	if _, err := exec.LookPath("nft"); err != nil && !exists("/usr/sbin/nft") {
		lacks = append(lacks, lack{"the command nft, which kube-proxy uses, is not installed", "on Debian: apt-get install nftables"})
	}
	return append(lacks, cgroupLacks()...)
}

func userNamespaceLacks() []lack {
	if !exists("/proc/self/ns/user") {
		return []lack{{"the kernel has no user namespaces", "run it as root"}}
	}
	for _, file := range []string{"/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone"} {
		text, err := os.ReadFile(file)
		if err == nil && strings.TrimSpace(string(text)) == "0" {
			return []lack{{file + " is 0: users may not make user namespaces", "run it as root, or set it"}}
		}
	}
	return nil
}

func cgroupLacks() []lack {
	hierarchies, err := cgroup.Hierarchies()
	if err != nil {
		return []lack{{err.Error(), "mount the cgroup file systems"}}
	}
	missing := cgroup.Missing(hierarchies, "cpu", "cpuacct", "cpuset", "memory", "pids")
	if len(missing) > 0 {
		return []lack{{"no cgroup hierarchy has the controllers " + strings.Join(missing, ", "), "mount them, or enable them in the kernel's command line"}}
	}
	for _, h := range hierarchies {
		if err := unix.Access(h.Path, unix.W_OK); err != nil && os.Geteuid() == 0 {
			return []lack{{"cgroup hierarchy " + h.Path + " cannot be written to", "give this container a writable /sys/fs/cgroup"}}
		}
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
