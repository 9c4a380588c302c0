// Package handshake is what the command and the supervisor of a local cluster
// say to each other while the cluster comes up: JSON lines over one socket.
//
// The supervisor does nothing that leaves a trace before Begin has come, ends
// itself when the socket closes before Accept has come, and stays afterwards.
// So a command killed at any instant leaves either nothing, or a cluster that
// ends by itself, or one that is recorded.
package handshake

import (
	"encoding/json"
	"fmt"
	"io"
)

// Kind is what a message says.
type Kind string

// From the command to the supervisor.
const (
	// Begin carries Settings: the supervisor's process is recorded, start.
	Begin Kind = "begin"
	// Accept says that the command has seen Ready.
	Accept Kind = "accept"
)

// From the supervisor to the command.
const (
	StepBegun  Kind = "step"
	StepUpdate Kind = "update"
	StepDone   Kind = "done"
	StepFailed Kind = "failed"
	// Ready says that every step is done.
	Ready Kind = "ready"
	// Failed says that the cluster did not come up, and why.
	Failed Kind = "error"
)

// A Message is one line. Only the fields that its Kind needs are set.
type Message struct {
	Kind Kind   `json:"kind"`
	Step string `json:"step,omitempty"`
	Text string `json:"text,omitempty"`
	// Hints come with Failed.
	Hints    []string  `json:"hints,omitempty"`
	Settings *Settings `json:"settings,omitempty"`
}

// Settings are what the supervisor must know.
type Settings struct {
	Name    string `json:"name"`
	Dir     string `json:"dir"`
	NodeDir string `json:"nodeDir"`
	// Full is false for a control plane alone, which has no mounts and no
	// cgroups, so that it works in a user namespace.
	Full bool `json:"full"`
	// Port is where the host reaches the API server on 127.0.0.1.
	Port int `json:"port"`
	// Retain keeps what is running after a failed step.
	Retain bool `json:"retain"`
	// StateDir is the directory that Dir lies in.
	StateDir string `json:"stateDir"`
}

// A Conn is one end of the socket. Send may be called from one goroutine at
// a time, Receive from another.
type Conn struct {
	rw  io.ReadWriteCloser
	enc *json.Encoder
	dec *json.Decoder
}

// New returns a Conn over a connected socket.
func New(rw io.ReadWriteCloser) *Conn {
	return &Conn{rw: rw, enc: json.NewEncoder(rw), dec: json.NewDecoder(rw)}
}

// Send writes one message.
func (c *Conn) Send(m Message) error {
	if err := c.enc.Encode(m); err != nil {
		return fmt.Errorf("sending %q: %w", m.Kind, err)
	}
	return nil
}

// Receive reads one message. At the end of the stream it returns io.EOF.
func (c *Conn) Receive() (Message, error) {
	var m Message
	err := c.dec.Decode(&m)
	return m, err
}

// Close closes the socket.
func (c *Conn) Close() error { return c.rw.Close() }
