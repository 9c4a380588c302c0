package records

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/gatemark/gatemark/load"
)

func ptr[T any](v T) *T { return &v }

// TestRoundTrip writes records and reads them with the library's reader.
func TestRoundTrip(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file)
	batch := make([]load.Record, 0, 2)
	batch = append(batch,
		load.Record{Number: 7, Due: 1000, Sent: 1500, Ended: 9000, Status: 200, Bytes: 5, Delay: 3000, Connection: 3, Thread: 1, Stream: 9},
		load.Record{Number: 8, Due: 2000, Sent: -1, Ended: 9100, Class: load.Unsent, Connection: -1, Delay: -1})
	batch, ok := w.Take(batch)
	if !ok || len(batch) != 0 || cap(batch) == 0 {
		t.Fatalf("got a batch of %d of %d, %v", len(batch), cap(batch), ok)
	}
	batch = append(batch, load.Record{Number: 9, Due: 3000, Sent: 3000, Ended: 3100, Class: load.Reset, Delay: -1})
	if _, ok := w.Take(batch); !ok {
		t.Fatal("the second batch was not taken")
	}
	started := time.Date(2026, 11, 21, 10, 0, 0, 5, time.UTC)
	if err := w.Close(started); err != nil {
		t.Fatal(err)
	}
	got, err := parquet.Read[Row](bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	want := []Row{
		{Number: 7, Due: 1000, Sent: ptr(int64(1500)), Ended: 9000, Latency: 8000, Service: ptr(int64(7500)), Class: "ok", Status: 200,
			Bytes: 5, Delay: ptr(int64(3000)), Thread: 1, Connection: ptr(int32(3)), Stream: 9},
		{Number: 8, Due: 2000, Ended: 9100, Latency: 7100, Class: "unsent"},
		{Number: 9, Due: 3000, Sent: ptr(int64(3000)), Ended: 3100, Latency: 100, Service: ptr(int64(100)), Class: "reset", Connection: ptr(int32(0))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	f, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := f.Lookup("started"); !ok || v != "2026-11-21T10:00:00.000000005Z" {
		t.Errorf("started is %q, %v", v, ok)
	}
}

// blocked takes nothing until it is opened.
type blocked struct {
	open chan struct{}
	bytes.Buffer
}

func (b *blocked) Write(p []byte) (int, error) {
	<-b.open
	return b.Buffer.Write(p)
}

// TestASlowDisk loses records rather than time, and says so.
func TestASlowDisk(t *testing.T) {
	file := &blocked{open: make(chan struct{})}
	w := NewWriter(file)
	lost := false
	for i := range 3 * maxWaiting * 100 {
		batch := make([]load.Record, 1, 1)
		batch[0].Number = uint64(i)
		if _, ok := w.Take(batch); !ok {
			lost = true
			break
		}
	}
	close(file.open)
	if err := w.Close(time.Now()); err != nil {
		t.Fatal(err)
	}
	if !lost {
		t.Error("no batch was refused")
	}
}
