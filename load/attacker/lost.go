package attacker

import "fmt"

// ErrLost is an attacker that does not answer any more, or that was restarted
// and has forgotten its attack. What the others found is not the result of the
// attack that was asked for.
type ErrLost struct {
	Attacker string
	// Node is the machine that it ran on, where that is known.
	Node string
	// During says what it was asked for.
	During string
	Err    error
}

func (e *ErrLost) Error() string {
	where := ""
	if e.Node != "" {
		where = " on node " + e.Node
	}
	return fmt.Sprintf("attacker %s%s was lost: %s: %v", e.Attacker, where, e.During, e.Err)
}

func (e *ErrLost) Unwrap() error { return e.Err }
