package supervisor

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// A Record is what the supervisor writes about its components, each time one
// is started.
type Record struct {
	// Ready is when the cluster had come up, or zero.
	Ready      time.Time   `json:"ready,omitzero"`
	Components []Component `json:"components"`
	// Sysctls are the kernel settings in force in the cluster's namespaces.
	Sysctls map[string]string `json:"sysctls,omitempty"`
}

// A Component is one program that runs.
type Component struct {
	Name string `json:"name"`
	// PID is its process in the cluster's own PID namespace.
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Restarts int       `json:"restarts"`
}

// writeStatus is called with cs.mu held.
func (cs *components) writeStatus() error {
	record := Record{Ready: cs.ready, Sysctls: cs.sysctls}
	for _, name := range slices.Sorted(maps.Keys(cs.running)) {
		r := cs.running[name]
		record.Components = append(record.Components, Component{Name: name, PID: r.pid, Started: r.started, Restarts: r.restarts})
	}
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	// A reader sees the old file or the new one, never half of one.
	next := cs.dir.Status() + ".next"
	if err := os.WriteFile(next, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	if err := os.Rename(next, cs.dir.Status()); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}
