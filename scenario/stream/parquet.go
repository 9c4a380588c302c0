package stream

import (
	"bytes"
	"fmt"
	"time"

	"github.com/parquet-go/parquet-go"
)

// A row is one request in the file of all requests, for people with DuckDB or
// pandas. Instants are nanoseconds since the traffic began, which the file's
// metadata has as "began".
type row struct {
	// Due is when it should have been sent, Sent when it was (null if never),
	// Ended when its answer was complete or it failed. Late is our own part of
	// Sent - Due.
	Due   int64  `parquet:"due,delta"`
	Sent  *int64 `parquet:"sent,optional"`
	Ended int64  `parquet:"ended,delta"`
	Late  int64  `parquet:"late,delta"`
	// Fresh requests had a connection of their own.
	Fresh   bool   `parquet:"fresh"`
	Replica string `parquet:"replica,dict"`
	Asked   string `parquet:"asked,dict"`
	// Class is "ok" or how it failed; Status is 0 where there was no answer.
	Class  string `parquet:"class,dict"`
	Status int32  `parquet:"status"`
	// Route, Generation and Pod are what the answer told of its origin.
	Route      string `parquet:"route,dict"`
	Generation int64  `parquet:"generation"`
	Pod        string `parquet:"pod,dict"`
}

// Parquet is a file of all hits. asked names what each stream asks for.
func Parquet(began time.Time, lanes []Lane, hits []Hit, asked func(stream int) string) ([]byte, error) {
	var out bytes.Buffer
	file := parquet.NewGenericWriter[row](&out, parquet.Compression(&parquet.Snappy))
	const batch = 4096
	rows := make([]row, 0, batch)
	for i := range hits {
		h := &hits[i]
		l := lanes[h.Lane]
		r := row{
			Due: int64(h.Due), Ended: int64(h.Ended), Late: int64(h.Late), Fresh: l.Fresh, Replica: l.Replica, Asked: asked(l.Stream),
			Class: h.Class.String(), Status: int32(h.Status), Route: h.Marker.Route, Generation: h.Marker.Generation, Pod: h.Marker.Pod,
		}
		if h.Sent >= 0 {
			sent := int64(h.Sent)
			r.Sent = &sent
		}
		if rows = append(rows, r); len(rows) < batch && i+1 < len(hits) {
			continue
		}
		if _, err := file.Write(rows); err != nil {
			return nil, fmt.Errorf("write requests: %w", err)
		}
		rows = rows[:0]
	}
	file.SetKeyValueMetadata("began", began.UTC().Format(time.RFC3339Nano))
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("end the file of requests: %w", err)
	}
	return out.Bytes(), nil
}
