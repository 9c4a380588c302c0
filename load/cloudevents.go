package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// An EventMode is how a CloudEvent lies in an HTTP request: CloudEvents' HTTP
// protocol binding 1.0, section 3.
type EventMode string

// The modes.
const (
	// Binary events have their attributes in header fields and their data in
	// the body.
	Binary EventMode = "binary"
	// Structured events are a JSON document with the data in it.
	Structured EventMode = "structured"
)

// EventModes lists them.
var EventModes = []EventMode{Binary, Structured}

// An Event describes CloudEvents that differ by their IDs alone: each has its
// request's number, so that a receiver can tell which are lost.
type Event struct {
	Mode EventMode
	// Source and Type are the attributes of these names.
	Source, Type string
	// Size is that of the data, in bytes: text of no meaning.
	Size int
}

// Target turns a target into one whose requests are such events.
func (e *Event) Target(t Target) (Target, error) {
	data := strings.Repeat("gatemark", e.Size/8+1)[:e.Size]
	t.Method = "POST"
	switch e.Mode {
	case Binary:
		t.Header = append(t.Header[:len(t.Header):len(t.Header)],
			Field{"content-type", "text/plain"}, Field{"ce-specversion", "1.0"}, Field{"ce-id", Number},
			Field{"ce-source", e.Source}, Field{"ce-type", e.Type})
		t.Body = []byte(data)
	case Structured:
		body, err := json.Marshal(struct {
			Version     string `json:"specversion"`
			ID          string `json:"id"`
			Source      string `json:"source"`
			Type        string `json:"type"`
			ContentType string `json:"datacontenttype"`
			Data        string `json:"data"`
		}{"1.0", Number, e.Source, e.Type, "text/plain", data})
		if err != nil {
			return t, err
		}
		t.Header = append(t.Header[:len(t.Header):len(t.Header)], Field{"content-type", "application/cloudevents+json"})
		t.Body = bytes.TrimSpace(body)
	default:
		return t, fmt.Errorf("event mode %q: want one of %v", e.Mode, EventModes)
	}
	return t, nil
}
