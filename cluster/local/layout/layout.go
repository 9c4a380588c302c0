// Package layout says where a local cluster keeps its files. Everything that
// a cluster writes lies below one directory, so that removing it removes all.
package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// maxSocketPath is what the kernel allows for a UNIX socket's path, less its
// closing zero.
const maxSocketPath = 107

// A Dir is the directory of one cluster: <state directory>/<cluster name>.
type Dir string

// Of returns the directory of the cluster of that name.
func Of(stateDir, name string) Dir { return Dir(filepath.Join(stateDir, name)) }

// DefaultStateDir returns where clusters live unless told otherwise:
// $GATEMARK_STATE_DIR, else /var/lib/gatemark for root, else the user's own
// state directory.
func DefaultStateDir() (string, error) {
	if dir := os.Getenv("GATEMARK_STATE_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Geteuid() == 0 {
		return "/var/lib/gatemark", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "gatemark"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("choosing a state directory: %w", err)
	}
	return filepath.Join(home, ".local", "state", "gatemark"), nil
}

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName refuses a cluster name that could not be a node's name, a folder
// and a cgroup at once.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("cluster name %q is not 1 to 40 of a-z, 0-9 and '-', with a letter or digit at both ends", name)
	}
	return nil
}

// CheckSockets refuses a directory too deep for the sockets below it.
func (d Dir) CheckSockets() error {
	if n := len(d.Containerd("containerd.sock.ttrpc")); n > maxSocketPath {
		return fmt.Errorf("state directory %s is too deep: sockets below it would have paths of %d bytes, and the kernel allows %d", filepath.Dir(string(d)), n, maxSocketPath)
	}
	return nil
}

func (d Dir) join(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// Lock is the file that is locked while the cluster is made or removed. It
// lies beside the directory, which comes and goes.
func (d Dir) Lock() string { return string(d) + ".lock" }

// Process is the record of the supervisor's process.
func (d Dir) Process() string { return d.join("process.json") }

// Status is what the supervisor says about its components.
func (d Dir) Status() string { return d.join("status.json") }

// Kubeconfig is the administrator's kubeconfig, for use on the host.
func (d Dir) Kubeconfig() string { return d.join("kubeconfig") }

// PKI is a file of the cluster's certificates and keys.
func (d Dir) PKI(name string) string { return d.join("pki", name) }

// Config is a file that a component is configured by.
func (d Dir) Config(name string) string { return d.join("config", name) }

// Log is a component's output.
func (d Dir) Log(component string) string { return d.join("logs", component+".log") }

// Etcd is etcd's data directory.
func (d Dir) Etcd() string { return d.join("etcd") }

// Audit is the API server's audit log.
func (d Dir) Audit() string { return d.join("audit", "audit.log") }

// Containerd is a file of containerd's: its root, its state, its socket.
func (d Dir) Containerd(name string) string { return d.join("containerd", name) }

// Kubelet is what the cluster sees at /var/lib/kubelet.
func (d Dir) Kubelet() string { return d.join("kubelet") }

// VarLog is what the cluster sees at /var/log.
func (d Dir) VarLog() string { return d.join("var-log") }

// Cache is what clients remember about the cluster.
func (d Dir) Cache() string { return d.join("cache") }

// CNI is the directory of CNI configurations.
func (d Dir) CNI() string { return d.join("cni") }

// Make makes the directory and those below it.
func (d Dir) Make() error {
	for _, sub := range []string{"pki", "config", "logs", "etcd", "audit", "containerd", "kubelet", "var-log", "cni"} {
		if err := os.MkdirAll(d.join(sub), 0o700); err != nil {
			return fmt.Errorf("making the cluster's directory: %w", err)
		}
	}
	// Containers of any user walk through these on the way to their files.
	for _, sub := range []string{"", "containerd", "kubelet", "var-log", "audit"} {
		if err := os.Chmod(d.join(sub), 0o711); err != nil {
			return fmt.Errorf("making the cluster's directory: %w", err)
		}
	}
	return nil
}

// Name returns the cluster's name.
func (d Dir) Name() string { return filepath.Base(string(d)) }

// StateDir returns the directory that holds all clusters'.
func (d Dir) StateDir() string { return filepath.Dir(string(d)) }
