package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Options say how to audit.
type Options struct {
	// Since and Until bound the window: writes received outside of it are
	// learnt from, and not counted.
	Since, Until time.Time
	// Namespace, if not empty, is the only one whose writes are counted.
	Namespace string
	// Settle is how long the log must have stood still, after Until, to be
	// held complete: 300 ms by default.
	Settle time.Duration
	// Step is the width of the timeline's buckets: 100 ms by default.
	Step time.Duration
	// WarLength is how many times, on one object in one generation, two
	// writers must have changed each other's work: 6 by default.
	WarLength int
	// Owners maps a controller name to the prefixes of the users that may
	// write in its name. Of names that are not in it the owner is inferred.
	Owners map[string][]string
	// ControllerOf, if not nil, tells whose a Gateway is. It must not change
	// its mind.
	ControllerOf func(namespace, name string) (controller string, known bool)
}

func (o *Options) defaults() {
	if o.Settle == 0 {
		o.Settle = 300 * time.Millisecond
	}
	if o.Step == 0 {
		o.Step = 100 * time.Millisecond
	}
	if o.WarLength == 0 {
		o.WarLength = 6
	}
}

// A Position is a place in an audit log, across rotations.
type Position struct {
	path   string
	file   os.FileInfo
	offset int64
}

// Mark returns the present end of a log.
func Mark(path string) (Position, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Position{}, fmt.Errorf("audit log: %w", err)
	}
	return Position{path: path, file: info, offset: info.Size()}, nil
}

// Read audits what the API server logged after from. It returns when the log
// has been read up to Options.Until and stands still, or ctx ends. Lines are
// taken one at a time: memory grows with objects, not with the log.
func Read(ctx context.Context, from Position, o Options) (Report, error) {
	o.defaults()
	r := newReader(o)
	files, err := filesSince(from)
	if err != nil {
		return Report{}, fmt.Errorf("audit log %s: %w", from.path, err)
	}
	for i, path := range files {
		offset := int64(0)
		if i == 0 {
			offset = from.offset
		}
		last := i == len(files)-1
		if err := r.file(ctx, path, offset, last); err != nil {
			return Report{}, fmt.Errorf("audit log %s: %w", path, err)
		}
	}
	return r.report(), nil
}

// file reads one file of the log. The last one is read until it stands still.
func (r *reader) file(ctx context.Context, path string, offset int64, last bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(f, 1<<20)
	var line []byte
	grown := time.Now()
	for {
		part, err := lines.ReadSlice('\n')
		if len(part) > 0 {
			grown = time.Now()
			line = append(line, part...)
		}
		switch {
		case err == nil:
			r.line(line)
			line = line[:0]
		case errors.Is(err, bufio.ErrBufferFull):
		case !errors.Is(err, io.EOF):
			return err
		case !last || time.Now().After(r.options.Until) && time.Since(grown) >= r.options.Settle:
			r.out.Torn = r.out.Torn || len(line) > 0
			return nil
		default: // the API server may be in the middle of a line
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}
