package load

import "github.com/gatemark/gatemark/marker"

// A Record is what became of one request. Instants are nanoseconds since the
// schedule's start.
type Record struct {
	// Number is the request's number in the schedule, over all attackers.
	Number uint64
	// Target and Thread are places among the targets and threads.
	Target, Thread int32
	// Connection is the place among the thread's connections, Stream what the
	// protocol calls the exchange there.
	Connection int32
	Stream     uint32
	// Due is when it should have been sent, Sent when it was, or -1, and Ended
	// when its answer was complete or it failed.
	Due, Sent, Ended int64
	// Late is how much later than it could have been the attacker sent it, in
	// nanoseconds: its own part of Sent - Due. The rest is the time for which no
	// connection was free, or there was none yet.
	Late int64
	// Status is that of HTTP, and 0 without a complete answer; GRPC is that of
	// gRPC, or -1.
	Status int32
	GRPC   int32
	Class  Class
	// Bytes is the size of the answer's body.
	Bytes int64
	// Delay is what the server said that it waited before it answered, in
	// nanoseconds, or -1.
	Delay int64
	// Marker is what the answer told of its origin.
	Marker marker.Marker
	// Certificate is the serial number, in hexadecimal, of the certificate
	// that the connection was opened with; empty without TLS.
	Certificate string
}

// HTTPStatus is Status, but where there is a gRPC status other than OK: that is
// told as the status of HTTP that clients take for it.
func (r *Record) HTTPStatus() int { return httpStatus(int(r.Status), int(r.GRPC)) }

// A Recorder takes records. Take gets batches from several threads at a time
// and must return soon: it delays the requests of the thread that calls it. It
// returns an empty batch to be filled next. Records of a batch that Take has no
// room for are lost; it says so by false.
type Recorder interface {
	Take(batch []Record) (empty []Record, ok bool)
}

// recordBatch is how many records a batch has, unless Options say otherwise.
const recordBatch = 4096

// recording is one thread's records.
type recording struct {
	to      Recorder
	batch   []Record
	lost    int64
	markers marker.Interner
}

func newRecording(to Recorder, batch int) *recording {
	return &recording{to: to, batch: make([]Record, 0, batch)}
}

func (r *recording) add(l *loop, x *exchange, class Class, a *answer) {
	record := Record{
		Number: x.number, Target: int32(x.request.Target), Thread: int32(l.index), Connection: -1, Stream: x.stream,
		Due: x.due - l.begin, Sent: -1, Ended: l.now - l.begin, Class: class, GRPC: -1, Delay: -1,
	}
	if x.conn != nil {
		record.Connection, record.Sent, record.Late = int32(x.conn.slot), x.sent-l.begin, x.late
		record.Certificate = x.conn.certificate
	}
	if a != nil {
		record.Status, record.GRPC, record.Bytes, record.Delay = int32(a.status), int32(a.grpc), a.body, a.delay
		if a.marker != nil {
			record.Marker = r.markers.Marker(a.marker)
		}
	}
	if r.batch = append(r.batch, record); len(r.batch) == cap(r.batch) {
		r.flush()
	}
}

func (r *recording) flush() {
	empty, ok := r.to.Take(r.batch)
	if !ok {
		r.lost += int64(len(r.batch))
	}
	r.batch = empty[:0]
}
