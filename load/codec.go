package load

import "github.com/gatemark/gatemark/marker"

// A codec is one protocol on one connection, from the client's side: a state
// machine between bytes and exchanges. It does no input and output, starts no
// goroutine, and knows no time; the connection that owns it does, from one
// thread. A connection that is opened anew gets a new state through greet.
type codec interface {
	// greet forgets everything and appends what a client says before its first
	// request. It may be nothing.
	greet(out []byte) []byte
	// room is how many more requests can be sent now. It is 0 while the other
	// side's greeting is awaited, and for ever once the connection must not
	// carry another request (connection: close, GOAWAY).
	room() int
	// request appends x's bytes, or as many as may be sent yet: the rest
	// follows from receive. It is called only while there is room.
	request(out []byte, x *exchange) []byte
	// receive takes the next bytes that came, hands every exchange that they
	// end to the connection (conn.answered, conn.failed), and appends what is
	// to be said in return. What it has not used comes again with more behind
	// it; full says that there is no room for more. An error ends the
	// connection and, with its class, every exchange on it.
	receive(in []byte, full bool, out []byte) (used int, _ []byte, err error)
	// ended tells that the other side has closed. Exchanges that this
	// completes are handed to the connection.
	ended()
	// forget drops an exchange that has timed out. It reports whether the
	// connection can go on without it; one that can appends what the other
	// side must be told.
	forget(x *exchange, out []byte) ([]byte, bool)
}

// An owner takes what becomes of exchanges; it is the codec's connection.
type owner interface {
	// answered takes a complete answer. Its fields are the codec's again when
	// answered returns.
	answered(x *exchange, a *answer)
	// failed takes an exchange that ended without an answer while the
	// connection goes on, such as a reset stream.
	failed(x *exchange, class Class)
}

// An answer is one complete response.
type answer struct {
	// Status is HTTP's. gRPC's is in grpc.
	status int
	// body is its size in bytes, without framing.
	body int64
	// grpc is the gRPC status, or -1 where there is none.
	grpc int
	// delay is what the server says that it waited before it answered, in
	// nanoseconds, or -1.
	delay  int64
	marker *marker.Fields
}

// An exchange is one request and what becomes of it. Instants are nanoseconds
// since the attack's epoch.
type exchange struct {
	request *Request
	// number counts the attack's requests, over all of its threads.
	number uint64
	// due is when the request should have been sent, ready when it could have
	// been (a connection was free), sent when it was handed to the kernel.
	due, ready, sent int64
	// late is how much later than it could have been this attacker began to send
	// it.
	late int64
	// deadline is when it has taken too long.
	deadline int64
	conn     *conn
	tally    *tally
	// stream is the codec's name for it.
	stream uint32
	// state is the codec's.
	state exchangeState

	// next and previous are the neighbours in the order of sending.
	next, previous *exchange
}

// exchangeState is what codecs that carry several exchanges keep of each.
type exchangeState struct {
	answer answer
	http2  http2Stream
}
