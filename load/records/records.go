// Package records writes what became of each request to a Parquet file, for
// scatter plots and for people with DuckDB or pandas:
//
//	duckdb -c "select status, count(*), max(latency) from 'records.parquet' group by status"
//	pandas.read_parquet("records.parquet").plot.scatter("due", "latency")
package records

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/gatemark/gatemark/load"
)

// A Row is one request in the file. Instants are nanoseconds since the start of
// the schedule, which the file's metadata has as "started".
type Row struct {
	// Number is the request's place in the schedule.
	Number uint64 `parquet:"number,delta"`
	// Due is when it should have been sent, Sent when it was (null if never),
	// Ended when its answer was complete or it failed.
	Due   int64  `parquet:"due,delta"`
	Sent  *int64 `parquet:"sent,optional"`
	Ended int64  `parquet:"ended,delta"`
	// Latency is Ended - Due, Service Ended - Sent, in nanoseconds.
	Latency int64  `parquet:"latency"`
	Service *int64 `parquet:"service,optional"`
	// Class is "ok" or how it failed; Status is 0 where there was no answer.
	Class  string `parquet:"class,dict"`
	Status int32  `parquet:"status"`
	// Bytes is the size of the answer's body.
	Bytes int64 `parquet:"bytes"`
	// Delay is what the server says that it waited, in nanoseconds; null where
	// it says nothing.
	Delay *int64 `parquet:"delay,optional"`
	// Target, Thread, Connection and Stream tell where it went.
	Target     int32  `parquet:"target"`
	Thread     int32  `parquet:"thread"`
	Connection *int32 `parquet:"connection,optional"`
	Stream     uint32 `parquet:"stream"`
}

// maxWaiting bounds the batches that wait to be written. A thread never waits
// for the disk: beyond this its records are lost, and counted.
const maxWaiting = 256

// A Writer is a load.Recorder that writes to a file.
type Writer struct {
	file    *parquet.GenericWriter[Row]
	batches chan []load.Record
	empty   sync.Pool
	done    chan error
}

var _ load.Recorder = (*Writer)(nil)

// NewWriter begins a file. It must be closed.
func NewWriter(out io.Writer) *Writer {
	w := &Writer{
		file:    parquet.NewGenericWriter[Row](out, parquet.Compression(&parquet.Snappy)),
		batches: make(chan []load.Record, maxWaiting),
		done:    make(chan error, 1),
	}
	go w.run()
	return w
}

// Take implements load.Recorder.
func (w *Writer) Take(batch []load.Record) ([]load.Record, bool) {
	select {
	case w.batches <- batch:
	default:
		return batch[:0], false
	}
	if empty, ok := w.empty.Get().(*[]load.Record); ok {
		return *empty, true
	}
	return make([]load.Record, 0, cap(batch)), true
}

// Close writes what is left, with when the schedule started, and the file's
// end. No record may come any more.
func (w *Writer) Close(started time.Time) error {
	close(w.batches)
	err := <-w.done
	w.file.SetKeyValueMetadata("started", started.UTC().Format(time.RFC3339Nano))
	if closeErr := w.file.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("end the file of records: %w", closeErr))
	}
	return err
}

func (w *Writer) run() {
	var err error
	rows := make([]Row, 0, 4096)
	for batch := range w.batches {
		rows = rows[:0]
		for i := range batch {
			rows = append(rows, row(&batch[i]))
		}
		if err == nil { // after an error only the channel is emptied
			if _, writeErr := w.file.Write(rows); writeErr != nil {
				err = fmt.Errorf("write records: %w", writeErr)
			}
		}
		batch = batch[:0]
		w.empty.Put(&batch)
	}
	w.done <- err
}

func row(r *load.Record) Row {
	row := Row{
		Number: r.Number, Due: r.Due, Ended: r.Ended, Latency: r.Ended - r.Due, Class: r.Class.String(), Status: r.Status,
		Bytes: r.Bytes, Target: r.Target, Thread: r.Thread, Stream: r.Stream,
	}
	if r.Connection >= 0 {
		sent, service, connection := r.Sent, r.Ended-r.Sent, r.Connection
		row.Sent, row.Service, row.Connection = &sent, &service, &connection
	}
	if r.Delay >= 0 {
		delay := r.Delay
		row.Delay = &delay
	}
	return row
}
