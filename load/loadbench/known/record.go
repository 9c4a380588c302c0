package known

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// An Outcome is what became of a request.
type Outcome uint8

// The outcomes.
const (
	Answered Outcome = iota // with status 200
	Failed                  // with status 503
	Reset                   // the connection was reset instead of an answer
	Open                    // the server ended, or the client left, before the answer
)

// A Record is one request. Instants are in nanoseconds since 1970, by the
// system's clock.
type Record struct {
	// Port is the client's, and Number the request's on that connection,
	// counted from 0: together they name the request on both sides.
	Port   uint16
	Number uint32
	// Arrived is when the kernel had the request's last byte, Read when the
	// server had read it, Written when the answer's last byte was handed to
	// the kernel, or the reset; 0 where that did not come to pass.
	Arrived, Read, Written int64
	Outcome                Outcome
}

// WriteRecords writes records to a file.
func WriteRecords(path string, records []Record) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := binary.Write(w, binary.LittleEndian, records); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return w.Flush()
}

// ReadRecords reads what WriteRecords has written.
func ReadRecords(path string) ([]Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	size := binary.Size(Record{})
	if len(text)%size != 0 {
		return nil, fmt.Errorf("%s: %d bytes are no whole number of records of %d: %w", path, len(text), size, io.ErrUnexpectedEOF)
	}
	records := make([]Record, len(text)/size)
	if _, err := binary.Decode(text, binary.LittleEndian, records); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return records, nil
}
