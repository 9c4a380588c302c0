package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gatemark/gatemark/cluster/local/cgroup"
	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/cluster/local/supervisor"
	"github.com/gatemark/gatemark/internal/failure"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A Cluster is one that is up, or was.
type Cluster struct {
	dir    layout.Dir
	record record
	// control is kept open for a cluster that is bound to this process.
	control *handshake.Conn
}

// ErrNotFound says that there is no cluster of a name.
var ErrNotFound = errors.New("there is no such cluster")

// Find returns the cluster of that name, "" for the default one, in stateDir,
// "" for the default one. The error is ErrNotFound where there is none that
// runs.
func Find(stateDir, name string) (*Cluster, error) {
	o := Options{StateDir: stateDir, Name: name}
	if err := o.complete(); err != nil {
		return nil, err
	}
	dir := layout.Of(o.StateDir, o.Name)
	r, ok, err := readRecord(dir.Process())
	if err != nil {
		return nil, err
	}
	if ok {
		if ok, err = r.alive(); err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, failure.Hint(fmt.Errorf("local cluster %s: %w", o.Name, ErrNotFound), "make it with: gatemark up --name "+o.Name)
	}
	return &Cluster{dir: dir, record: r}, nil
}

// Names returns the names of the clusters that have a directory in stateDir,
// "" for the default one: those that run and those that are left over.
func Names(stateDir string) ([]string, error) {
	o := Options{StateDir: stateDir}
	if err := o.complete(); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(o.StateDir, "*"))
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	var names []string
	for _, file := range files {
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed just now
		}
		if err != nil {
			return nil, fmt.Errorf("listing clusters: %w", err)
		}
		if name := filepath.Base(file); info.IsDir() && layout.CheckName(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// Name returns the cluster's name, which is also its node's.
func (c *Cluster) Name() string { return c.record.Name }

// Mode returns how much of a cluster it is.
func (c *Cluster) Mode() Mode { return c.record.Mode }

// Kubeconfig returns the path of the administrator's kubeconfig. The file
// refers to no other, so that it works as a copy too.
func (c *Cluster) Kubeconfig() string { return c.dir.Kubeconfig() }

// RESTConfig returns the administrator's way to the API server.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of cluster %s: %w", c.record.Name, err)
	}
	return config, nil
}

// AuditLog returns the path of the API server's audit log: one JSON event a
// line, for writes to the Gateway API only. A pod's hostPath volume sees the
// same path.
func (c *Cluster) AuditLog() string { return c.dir.Audit() }

// LogDir returns the directory of the components' logs.
func (c *Cluster) LogDir() string { return filepath.Dir(c.dir.Log("any")) }

// Program returns the path of one of the node's programs and the name to call
// it by: "kubectl", "ctr", "etcd", ...
func (c *Cluster) Program(name string) (path, argv0 string) {
	if name == "ctr" || name == "containerd" || name == "runc" {
		return filepath.Join(c.record.NodeDir, name), name
	}
	return filepath.Join(c.record.NodeDir, "node"), name
}

// CacheDir returns a directory for what clients remember about the cluster.
func (c *Cluster) CacheDir() string { return c.dir.Cache() }

// CgroupRoot returns the cgroup that holds one for each component, by its
// name, and "pods". The path is below each hierarchy's mount.
func (c *Cluster) CgroupRoot() string { return supervisor.CgroupRoot(c.record.Name) }

// realtimeShare is how much of each CPU a container's real-time threads may
// take. Two clusters at a time fit into what the kernel leaves for them.
const realtimeShare = 0.45

// AllowRealtime lets threads of a container that runs become real-time threads,
// if the pod's own rights allow it. The pod is named by its UID, the container
// by its ID.
func (c *Cluster) AllowRealtime(uid, container string) error {
	hierarchies, err := cgroup.Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		pods := filepath.Join(h.Path, c.CgroupRoot(), "pods/kubepods")
		for _, class := range []string{"", "burstable", "besteffort"} { // of its quality of service
			dir := filepath.Join(pods, class, "pod"+uid, container)
			if _, err := os.Stat(dir); err != nil {
				continue
			}
			return cgroup.AllowRealtime(hierarchies, strings.TrimPrefix(dir, h.Path), realtimeShare)
		}
	}
	return fmt.Errorf("container %s of pod %s has no cgroup", container, uid)
}

func (c *Cluster) supervisorRecord() (supervisor.Record, error) {
	var r supervisor.Record
	text, err := os.ReadFile(c.dir.Status())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil // none was started yet
	}
	if err != nil {
		return r, fmt.Errorf("reading the status of cluster %s: %w", c.record.Name, err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("reading the status of cluster %s: %w", c.record.Name, err)
	}
	return r, nil
}

func (c *Cluster) ready() (bool, error) {
	r, err := c.supervisorRecord()
	return !r.Ready.IsZero(), err
}

// fileTail returns the last lines of a file, indented, for an error's text.
func fileTail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "  (its log cannot be read: " + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if len(lines) > 15 {
		lines = lines[len(lines)-15:]
	}
	return "  the end of " + file + ":\n  " + strings.Join(lines, "\n  ")
}
