package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gatemark/gatemark/cluster/local/layout"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// State is how a cluster is.
type State string

const (
	// Ready: every step of the bring-up was done and the supervisor runs.
	Ready State = "ready"
	// Starting: the supervisor runs and is not done, or was kept after a
	// failure.
	Starting State = "starting"
	// Ended: files are left of a cluster that runs no more.
	Ended State = "ended"
)

// Status is what there is to say about a cluster.
type Status struct {
	Name       string    `json:"name"`
	State      State     `json:"state"`
	Mode       Mode      `json:"mode,omitempty"`
	Dir        string    `json:"dir"`
	Server     string    `json:"server,omitempty"`
	Kubeconfig string    `json:"kubeconfig,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Ready      time.Time `json:"ready,omitzero"`
	// Version is the API server's. Problem says why there is none.
	Version string `json:"version,omitempty"`
	Problem string `json:"problem,omitempty"`
	// NodeReady is nil without a node.
	NodeReady *bool `json:"nodeReady,omitempty"`
	// Components are the programs that run, the supervisor first.
	Components []ComponentStatus `json:"components,omitempty"`
	// Sysctls are the network settings in force.
	Sysctls map[string]string `json:"sysctls,omitempty"`
}

// ComponentStatus is one program that runs.
type ComponentStatus struct {
	Name string `json:"name"`
	// PID is its process as the host numbers it, 0 where it is not running.
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Restarts int       `json:"restarts"`
}

// List returns the status of every cluster in stateDir, "" for the default
// one.
func List(ctx context.Context, stateDir string) ([]Status, error) {
	o := Options{StateDir: stateDir}
	if err := o.complete(); err != nil {
		return nil, err
	}
	names, err := Names(o.StateDir)
	if err != nil {
		return nil, err
	}
	list := []Status{}
	for _, name := range names {
		dir := layout.Of(o.StateDir, name)
		r, _, err := readRecord(dir.Process())
		if err != nil {
			return nil, err
		}
		r.Name = name
		s, err := (&Cluster{dir: dir, record: r}).Status(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// Status looks at the cluster.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	s := Status{Name: c.record.Name, State: Ended, Mode: c.record.Mode, Dir: string(c.dir), Started: c.record.Started}
	alive, err := c.record.alive()
	if err != nil || !alive {
		return s, err
	}
	r, err := c.supervisorRecord()
	if err != nil {
		return s, err
	}
	s.State, s.Ready, s.Sysctls = Starting, r.Ready, r.Sysctls
	if !r.Ready.IsZero() {
		s.State = Ready
	}
	s.Server = fmt.Sprintf("https://127.0.0.1:%d", c.record.Port)
	s.Kubeconfig = c.Kubeconfig()
	pids, err := hostPIDs(c.record.PID)
	if err != nil {
		return s, err
	}
	s.Components = []ComponentStatus{{Name: "supervisor", PID: c.record.PID, Started: c.record.Started}}
	for _, p := range r.Components {
		s.Components = append(s.Components, ComponentStatus{Name: p.Name, PID: pids[p.PID], Started: p.Started, Restarts: p.Restarts})
	}
	if s.State == Ready {
		c.ask(ctx, &s)
	}
	return s, nil
}

// ask fills in what the API server says. A cluster whose API server does not
// answer still has a status.
func (c *Cluster) ask(ctx context.Context, s *Status) {
	config, err := c.RESTConfig()
	if err != nil {
		s.Problem = err.Error()
		return
	}
	config.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.Problem = err.Error()
		return
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		s.Problem = "the API server does not answer: " + err.Error()
		return
	}
	s.Version = version.GitVersion
	if c.record.Mode != Full {
		return
	}
	node, err := client.CoreV1().Nodes().Get(ctx, c.record.Name, metav1.GetOptions{})
	if err != nil {
		s.Problem = err.Error()
		return
	}
	ready := false
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			ready = condition.Status == corev1.ConditionTrue
		}
	}
	s.NodeReady = &ready
}

// hostPIDs maps the numbers that the supervisor's children have in its PID
// namespace to those that the host sees.
func hostPIDs(supervisor int) (map[int]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking for the components' processes: %w", err)
	}
	pids := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrPermission) || err != nil && !exists("/proc/"+e.Name()) {
			continue // it has ended, or is another user's
		}
		if err != nil {
			return nil, fmt.Errorf("looking for the components' processes: %w", err)
		}
		if parent, inner := parseStatus(text); parent == supervisor {
			pids[inner] = pid
		}
	}
	return pids, nil
}

// parseStatus returns the parent of a process, and its number in the
// innermost PID namespace that it is in.
func parseStatus(text []byte) (parent, inner int) {
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(string(line), ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		// A number that is none stays 0, which no process has.
		switch name {
		case "PPid":
			parent, _ = strconv.Atoi(fields[0])
		case "NSpid":
			inner, _ = strconv.Atoi(fields[len(fields)-1])
		}
	}
	return parent, inner
}
