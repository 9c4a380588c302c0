package attacker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gatemark/gatemark/load"
)

// The paths of the protocol.
const (
	// HealthPath answers without a token when the server is up.
	HealthPath = "/healthz"

	clockPath   = "/v1/clock"
	statePath   = "/v1/state"
	preparePath = "/v1/prepare"
	startPath   = "/v1/start"
	markPath    = "/v1/mark"
	stopPath    = "/v1/stop"
	resultPath  = "/v1/result"
	resetPath   = "/v1/reset"
)

// instanceHeader carries the server's instance in every answer.
const instanceHeader = "Gatemark-Attacker-Instance"

// Bounds of what is read.
const (
	smallBody   = 64 << 10
	optionsBody = 64 << 20
	resultBody  = 1 << 30
)

// A phase is how far a server's attack is.
type phase string

const (
	idle      phase = "idle"
	preparing phase = "preparing"
	prepared  phase = "prepared"
	running   phase = "running" // or told when to start
	done      phase = "done"
	failed    phase = "failed"
)

// ended reports whether the attack will not change any more.
func (p phase) ended() bool { return p == idle || p == done || p == failed }

// state is where a server stands.
type state struct {
	Phase phase `json:"phase"`
	// CPUs is how many event loops the server can keep busy.
	CPUs int `json:"cpus"`
	// Attack is the ID of the attack, URL its first target's.
	Attack string `json:"attack,omitempty"`
	URL    string `json:"url,omitempty"`
	// Error is why the attack failed.
	Error string `json:"error,omitempty"`
}

// reading is a server's clock, in nanoseconds since 1970 by its system's clock
// at its start.
type reading struct {
	Now int64 `json:"now"`
}

type prepareRequest struct {
	// Attack is an ID that the client makes up. Later requests repeat it.
	Attack  string       `json:"attack"`
	Options load.Options `json:"options"`
}

type startRequest struct {
	Attack string `json:"attack"`
	// At is by the server's clock, as in a reading.
	At int64 `json:"at"`
}

type markRequest struct {
	Attack string `json:"attack"`
	Window string `json:"window"`
	// At is since the schedule's start: the same for all attackers, to the
	// nanosecond, so that their windows are.
	At time.Duration `json:"at"`
}

type stopRequest struct {
	Attack string `json:"attack"`
}

type resultAnswer struct {
	Attack string       `json:"attack"`
	Result *load.Result `json:"result"`
}

type refusal struct {
	Error string `json:"error"`
}

// decode reads one JSON value of at most limit bytes, and nothing else.
func decode(r io.Reader, limit int64, into any) error {
	bounded := &io.LimitedReader{R: r, N: limit + 1}
	d := json.NewDecoder(bounded)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something comes after the JSON value")
		}
	}
	if bounded.N <= 0 {
		return fmt.Errorf("longer than %d bytes", limit)
	}
	return err
}
