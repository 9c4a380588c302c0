package incident

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A Role is the part that a pod plays in an implementation.
type Role string

// The roles.
const (
	ControlPlane Role = "control plane"
	DataPlane    Role = "data plane"
)

// A Kind of incident.
type Kind string

// The kinds.
const (
	OOMKill  Kind = "oom-kill"
	Crash    Kind = "crash"    // ended with an exit code other than 0, or by a signal
	Restart  Kind = "restart"  // ended with exit code 0, and should not have
	Eviction Kind = "eviction" // by the kubelet, the scheduler or the eviction API
	NotReady Kind = "not-ready"
)

// An Incident is one thing that happened to one pod.
type Incident struct {
	Kind Kind
	Role Role
	// Pod is namespace/name. Container is empty for what befalls a whole pod.
	Pod, Container, Node string
	// At is when the watch told, with a monotonic reading.
	At time.Time
	// Times is how many restarts this stands for: several can fall between two
	// versions of a pod, and only the last one's reason is then known.
	Times int
	// ExitCode, Signal, Reason and Message are the kubelet's.
	ExitCode, Signal int32
	Reason, Message  string
	// Before marks what happened after the trial before and before this one.
	Before bool
	// Expected says why it was on purpose; empty where it was not.
	Expected string
	// Log is the end of the log of the container that ended, or says why there
	// is none.
	Log string
	// Events are the cluster's events about the pod, a line each.
	Events []string
	// Lasted is how long a pod was not ready; 0 where it still was not at the
	// end.
	Lasted time.Duration
}

// String says what happened, without when.
func (i Incident) String() string {
	who := "pod " + i.Pod
	if i.Container != "" {
		who += " container " + i.Container
	}
	switch i.Kind {
	case OOMKill:
		return who + " was OOM-killed" + i.often()
	case Crash:
		how := fmt.Sprintf("exit code %d", i.ExitCode)
		if i.Signal != 0 {
			how = fmt.Sprintf("signal %d", i.Signal)
		}
		if i.Reason == "" {
			how = "for a reason that the kubelet does not tell"
		}
		return fmt.Sprintf("%s crashed%s (%s)", who, i.often(), how)
	case Restart:
		return who + " ended with exit code 0 and was restarted" + i.often()
	case Eviction:
		return fmt.Sprintf("%s was evicted (%s: %s)", who, i.Reason, i.Message)
	default:
		if i.Lasted > 0 {
			return fmt.Sprintf("%s was not ready for %s", who, i.Lasted.Round(10*time.Millisecond))
		}
		return who + " stopped being ready, and did not become it again"
	}
}

func (i Incident) often() string {
	if i.Times > 1 {
		return fmt.Sprintf(" %d times", i.Times)
	}
	return ""
}

// A Baseline is the state of pods at an instant, to count from.
type Baseline struct {
	pods map[types.UID]podState
}

type podState struct {
	// restarts counts by container; ended holds the IDs of containers whose
	// end was told already.
	restarts map[string]int32
	ended    map[string]bool
	ready    bool
	evicted  bool
}

func (s podState) clone() podState {
	s.restarts, s.ended = maps.Clone(s.restarts), maps.Clone(s.ended)
	return s
}

func newState() podState {
	return podState{restarts: map[string]int32{}, ended: map[string]bool{}}
}
