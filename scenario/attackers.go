package scenario

import (
	"context"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/load/attacker"
	"github.com/gatemark/gatemark/measure/usage"
)

// Attackers send load as one, from other processes than this one: a runner that
// attacked would share what it measures with its own watching. Methods are
// those of attacker.Fleet.
type Attackers interface {
	Prepare(ctx context.Context, o load.Options) error
	Start(ctx context.Context) (time.Time, error)
	Collect(ctx context.Context) (*attacker.Outcome, error)
	Reset(ctx context.Context) error
	// Remove ends the attackers themselves.
	Remove(ctx context.Context) error
}

// AttackerName begins the names of attackers' pods.
const AttackerName = "attacker"

// A Meter knows what everything in the cluster has used.
type Meter interface {
	// Edge has everything read now. The edges of a window need readings of their
	// own; without them they are interpolated.
	Edge(ctx context.Context)
	// Window tells what was used between two instants, by role.
	Window(from, to time.Time) *usage.Window
}

// The roles between which use is divided. Each other implementation has two of
// its own. What is left is usage.Rest.
const (
	ControlPlaneRole = "control-plane"
	DataPlaneRole    = "data-plane"
	KubernetesRole   = "kubernetes"
	OurRole          = "gatemark"
)
