package result

import (
	"encoding/json"
	"time"
)

// A Trial is one scenario on one implementation, once.
type Trial struct {
	SchemaVersion  string `json:"schemaVersion"`
	ID             string `json:"id"`
	RunID          string `json:"runID"`
	Implementation string `json:"implementation"`
	Scenario       string `json:"scenario"`
	Variant        string `json:"variant,omitempty"`
	// Block counts from 1: every treatment has one trial in each block.
	Block int `json:"block"`
	// Attempt counts from 1: an invalid trial is repeated at most twice.
	Attempt    int             `json:"attempt"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	Started    time.Time       `json:"started"`
	// Duration is in seconds, set-up and clean-up included.
	Duration float64 `json:"duration"`

	Outcome Outcome `json:"outcome"`
	// Reason says why the outcome is not ok; empty where it is.
	Reason string `json:"reason,omitempty"`

	Gates    []Gate            `json:"gates,omitempty"`
	Metrics  map[string]Metric `json:"metrics,omitempty"`
	Findings []Finding         `json:"findings,omitempty"`
	Events   []Event           `json:"events,omitempty"`
	Series   []Series          `json:"series,omitempty"`
	Figures  []Figure          `json:"figures,omitempty"`
	Tables   []Table           `json:"tables,omitempty"`
	// Notes are limits that a reader must know, such as "replicas cannot be
	// told apart".
	Notes []string `json:"notes,omitempty"`
}

// Outcome is how a trial ended.
type Outcome string

// The outcomes.
const (
	// OK: measured.
	OK Outcome = "ok"
	// Failed: the implementation misbehaved. That is a finding.
	Failed Outcome = "failed"
	// Unsupported: the implementation lacks the feature.
	Unsupported Outcome = "unsupported"
	// Invalid: we mismeasured. Never evidence about the implementation.
	Invalid Outcome = "invalid"
	// Skipped: not run, with the reason.
	Skipped Outcome = "skipped"
)

// A Gate is a condition that a trial must meet to be evidence.
type Gate struct {
	Name  string  `json:"name"`
	OK    bool    `json:"ok"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit"`
	// Text says in words what was compared.
	Text string `json:"text"`
}

// An Event is an instant of a trial worth a mark in its pictures.
type Event struct {
	// At is in seconds since the measurement began: the trial's start, or the
	// end of its set-up where it has one.
	At     float64 `json:"at"`
	Name   string  `json:"name"`
	Object string  `json:"object,omitempty"`
	Text   string  `json:"text,omitempty"`
}

// Severity is how much a finding matters to a user of the implementation.
type Severity string

// The severities, worst first.
const (
	// Broken: users see wrong answers or errors.
	Broken Severity = "broken"
	// Costly: it works and costs more than it should.
	Costly Severity = "costly"
	// Notable: a reader who chooses a gateway wants to know.
	Notable Severity = "notable"
	// Info: good to know.
	Info Severity = "info"
)

// Severities lists them, worst first.
func Severities() []Severity { return []Severity{Broken, Costly, Notable, Info} }

// A Finding is a sentence with its evidence.
type Finding struct {
	// ID is stable between runs: scenario/what, such as
	// route-propagation/errors-after-first-success.
	ID       string     `json:"id"`
	Severity Severity   `json:"severity"`
	Text     string     `json:"text"`
	Evidence []Evidence `json:"evidence"`
}

// Evidence is what a finding rests on.
type Evidence struct {
	// Name says what this is: "counts", "pod log", "event", "object".
	Name string `json:"name"`
	// Text is the evidence itself, a line or an excerpt.
	Text string `json:"text,omitempty"`
	// File is an attachment in the trial's directory, for long evidence.
	File string `json:"file,omitempty"`
}

// A Table is rows that a scenario wants shown as such.
type Table struct {
	Name    string     `json:"name"`
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}
