package events

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// An Event is the attributes of a CloudEvent that matter here.
type Event struct {
	Specversion, ID, Source, Type []byte
}

// Reset forgets the last event, and keeps its memory.
func (e *Event) Reset() {
	e.Specversion, e.ID, e.Source, e.Type = e.Specversion[:0], e.ID[:0], e.Source[:0], e.Type[:0]
}

var errAttributes = errors.New("not a CloudEvent 1.0 with an id, a source and a type")

// Check reports whether the event has what every event must have.
func (e *Event) Check() error {
	if string(e.Specversion) != "1.0" || len(e.ID) == 0 || len(e.Source) == 0 || len(e.Type) == 0 {
		return errAttributes
	}
	return nil
}

// A Decoder reads structured events: JSON objects. It is meant to be reused.
type Decoder struct {
	reader bytes.Reader
	json   jsontext.Decoder
}

// Decode reads one event into e.
func (d *Decoder) Decode(body []byte, e *Event) error {
	e.Reset()
	d.reader.Reset(body)
	d.json.Reset(&d.reader, jsontext.AllowDuplicateNames(true))
	if token, err := d.json.ReadToken(); err != nil || token.Kind() != '{' {
		return errors.Join(errAttributes, err)
	}
	for d.json.PeekKind() != '}' {
		if err := d.member(e); err != nil {
			return fmt.Errorf("structured event: %w", err)
		}
	}
	if _, err := d.json.ReadToken(); err != nil {
		return fmt.Errorf("structured event: %w", err)
	}
	return e.Check()
}

func (d *Decoder) member(e *Event) error {
	name, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	place := e.place(name)
	if place == nil {
		return d.json.SkipValue()
	}
	value, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() != '"' {
		return errAttributes
	}
	*place, err = jsontext.AppendUnquote((*place)[:0], value)
	return err
}

func (e *Event) place(quoted []byte) *[]byte {
	switch string(quoted) {
	case `"specversion"`:
		return &e.Specversion
	case `"id"`:
		return &e.ID
	case `"source"`:
		return &e.Source
	case `"type"`:
		return &e.Type
	}
	return nil
}
