// Package local makes real Kubernetes clusters on this machine, each in
// namespaces of its own with no way out, and removes them without a trace.
//
// A cluster is one supervisor process (package supervisor) with everything
// else below it in the same PID, network and mount namespaces, a directory
// (package layout), and cgroups. The supervisor's end is the end of every
// process, mount and interface, so removing a cluster is: kill one process,
// remove its cgroups, remove its directory.
package local

import (
	"path/filepath"

	"github.com/gatemark/gatemark/cluster/local/binaries"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
)

// Mode is how much of a cluster is made.
type Mode string

const (
	// Full is a node that runs pods. It needs root.
	Full Mode = "full"
	// ControlPlane is etcd, kube-apiserver and kube-controller-manager: all
	// that tests against an API server need. It runs without root in a user
	// namespace.
	ControlPlane Mode = "control-plane"
)

// DefaultName is the cluster that is meant where none is named.
const DefaultName = "gatemark"

// Options are how a cluster is made. The zero value makes the default one.
type Options struct {
	// Name tells clusters apart; it is the node's name too.
	Name string
	Mode Mode
	// StateDir holds a directory for each cluster.
	StateDir string
	// NodeDir holds the node's programs.
	NodeDir string
	// Retain keeps what is there after a failed step, for a look at it.
	Retain bool
	// Bound ends the cluster when this process ends, however it ends. Its
	// files stay where Down is not called.
	Bound bool
	// Progress shows the steps.
	Progress *progress.Printer
	// Executable is a gatemark, whose hidden command is the supervisor. The
	// default is this process' own executable.
	Executable string
}

func (o *Options) complete() error {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Mode == "" {
		o.Mode = Full
	}
	if err := layout.CheckName(o.Name); err != nil {
		return failure.WithCode(err, failure.Usage)
	}
	var err error
	if o.StateDir == "" {
		if o.StateDir, err = layout.DefaultStateDir(); err != nil {
			return err
		}
	}
	if o.StateDir, err = filepath.Abs(o.StateDir); err != nil {
		return err
	}
	if o.NodeDir == "" {
		if o.NodeDir, err = binaries.DefaultDir(); err != nil {
			return err
		}
	}
	if o.NodeDir, err = filepath.Abs(o.NodeDir); err != nil {
		return err
	}
	if err := layout.Of(o.StateDir, o.Name).CheckSockets(); err != nil && o.Mode == Full {
		return failure.Hint(err, "set GATEMARK_STATE_DIR to a shorter path")
	}
	return nil
}
