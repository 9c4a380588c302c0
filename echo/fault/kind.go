package fault

import "sync/atomic"

// A Kind is one way to go wrong.
type Kind int

// The kinds, in the order of Rule's fields. None is a proper answer.
const (
	None Kind = iota
	DelayKind
	StallKind
	StatusKind
	ResetKind
	CloseKind
	HangKind
	TrickleKind
	GarbageKind
	RefuseKind
	kinds
)

var kindNames = [kinds]string{"none", "delay", "stall", "status", "reset", "close", "hang", "trickle", "garbage", "refuse"}

func (k Kind) String() string { return kindNames[k] }

// Kinds is a set of them.
type Kinds uint16

// Waits are the kinds that hold an answer up, Answers those that decide it.
const (
	Waits   = Kinds(1<<DelayKind | 1<<StallKind)
	Answers = Kinds(1<<StatusKind | 1<<ResetKind | 1<<CloseKind | 1<<HangKind | 1<<TrickleKind | 1<<GarbageKind)
	// Messages are the kinds that make sense for a message on an open
	// connection.
	Messages = Waits | Kinds(1<<ResetKind|1<<CloseKind|1<<HangKind)
)

// Has reports whether k is one of them.
func (s Kinds) Has(k Kind) bool { return s&(1<<k) != 0 }

// Totals counts how often each kind was applied, over all Sets of a server.
type Totals struct{ n [kinds]atomic.Int64 }

// Add counts one.
func (t *Totals) Add(k Kind) { t.n[k].Add(1) }

// Counts returns the kinds that were applied at all.
func (t *Totals) Counts() map[string]int64 {
	out := map[string]int64{}
	for k := range t.n {
		if n := t.n[k].Load(); n > 0 {
			out[Kind(k).String()] = n
		}
	}
	return out
}
