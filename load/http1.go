package load

// http1 is HTTP/1.1: one request at a time. Requests are not pipelined.
type http1 struct {
	owner    owner
	response Response
	current  *exchange
	last     bool // the connection cannot carry another request
	answer   answer
}

// newHTTP1 makes a codec; the connections of one loop share what they remember
// of heads.
func newHTTP1(o owner, heads *lastHead) *http1 {
	return &http1{owner: o, response: Response{heads: heads}}
}

func (h *http1) greet(out []byte) []byte {
	h.current, h.last = nil, false
	return out
}

func (h *http1) room() int {
	if h.current != nil || h.last {
		return 0
	}
	return 1
}

func (h *http1) request(out []byte, x *exchange) []byte {
	h.current = x
	h.response.Reset(x.request.head)
	start := len(out)
	out = append(out, x.request.wire...)
	for _, hole := range x.request.holes {
		putNumber(out[start+hole:], x.number)
	}
	return out
}

func (h *http1) receive(in []byte, full bool, out []byte) (int, []byte, error) {
	if h.current == nil {
		return 0, out, ErrUnasked
	}
	used, done, err := h.response.Parse(in, full)
	if err != nil || !done {
		return used, out, err
	}
	if used < len(in) && !h.response.Close {
		return used, out, ErrUnasked
	}
	h.complete()
	return len(in), out, nil
}

func (h *http1) complete() {
	r := &h.response
	x := h.current
	h.current, h.last = nil, r.Close
	h.answer = answer{status: r.Status, body: r.Body, grpc: -1, delay: r.Delay, marker: &r.Marker}
	h.owner.answered(x, &h.answer)
}

func (h *http1) ended() {
	if h.current != nil && h.response.EOF() {
		h.complete()
	}
}

// forget cannot: the answer would still come.
func (h *http1) forget(_ *exchange, out []byte) ([]byte, bool) { return out, false }

var _ codec = (*http1)(nil)

// newCodec makes the codec of a protocol.
func newCodec(l *loop, owner owner) codec {
	o := l.options
	switch o.Protocol {
	case HTTP2:
		return newHTTP2(owner, o.Streams)
	case GRPC:
		return newGRPC(owner, o.Streams)
	case WebSocket:
		return newWebSocket(owner, o.Streams)
	}
	return newHTTP1(owner, &l.heads)
}
