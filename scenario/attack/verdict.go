package attack

import (
	"fmt"

	"github.com/gatemark/gatemark/load"
)

// A Verdict says whose a measurement is.
type Verdict string

// The verdicts.
const (
	// Fine is the gateway's own number, or on the direct path the backend's.
	Fine Verdict = "ok"
	// NotCarried is the gateway's number too: it was asked for more than it
	// answered, while the direct path carried it. Latency is then the length of a
	// queue.
	NotCarried Verdict = "rate not carried"
	// The others are no evidence about the gateway.
	AttackerLimited Verdict = "attacker-limited"
	MachineLimited  Verdict = "machine-limited"
	BackendLimited  Verdict = "backend-limited"
	DirectSaturated Verdict = "direct path saturated"
)

// Valid reports whether a measurement is evidence about the gateway.
func (v Verdict) Valid() bool { return v == Fine || v == NotCarried }

// Limits beyond which a number is not the gateway's.
const (
	// backendShare of all CPUs of the backends' nodes.
	backendShare = 0.8
	// stealShare of the machine's CPU time, given to other machines by the host.
	stealShare = 0.1
)

// JudgeAlone gives a measurement its verdict by the attacker, the machine and
// the backends, which have so many CPUs.
func (one *Seen) JudgeAlone(cpus int) {
	one.Verdict, one.Reasons = Fine, nil
	if one.Result.Verdict == load.AttackerLimited {
		one.Verdict, one.Reasons = AttackerLimited, one.Result.Reasons
		return
	}
	one.JudgeAround(cpus)
	if one.Verdict == Fine && one.Result.Verdict == load.BackendLimited {
		one.Verdict, one.Reasons = NotCarried, one.Result.Reasons
	}
}

// JudgeAround gives a measurement that so far is fine its verdict by the machine
// and the backends, which have so many CPUs.
func (one *Seen) JudgeAround(cpus int) {
	if steal := one.Result.Self.Steal; steal > stealShare {
		one.Verdict, one.Reasons = MachineLimited, []string{fmt.Sprintf("the host took %.0f %% of the CPU time away", 100*steal)}
		return
	}
	if share := one.Use.Backends / one.Use.Seconds / float64(cpus); share > backendShare {
		one.Verdict, one.Reasons = BackendLimited, []string{fmt.Sprintf("the backends used %.0f %% of the CPUs that they could", 100*share)}
	}
}

// JudgeRate holds a measurement of the gateway at a fixed rate against one of
// the direct path.
func (one *Seen) JudgeRate(direct *Seen) {
	if direct.Verdict != Fine {
		one.Verdict = DirectSaturated
		one.Reasons = []string{fmt.Sprintf("the direct path did not carry this rate either (%s)", direct.Verdict)}
	}
}
