package load

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gatemark/gatemark/marker"
)

// An outcome is what became of one exchange.
type outcome struct {
	Number uint64
	Class  Class
	Status int
	GRPC   int
	Body   int64
	Delay  int64
	Marker marker.Marker
}

// A witness is an owner that notes what becomes of exchanges.
type witness struct {
	t     testing.TB
	ended []outcome
	times map[*exchange]int
}

func newWitness(t testing.TB) *witness { return &witness{t: t, times: map[*exchange]int{}} }

func (w *witness) answered(x *exchange, a *answer) {
	w.once(x)
	w.ended = append(w.ended, outcome{
		x.number, x.request.expect.classify(a), a.status, a.grpc, a.body, a.delay, a.marker.Marker(),
	})
}

func (w *witness) failed(x *exchange, class Class) {
	w.once(x)
	w.ended = append(w.ended, outcome{Number: x.number, Class: class})
}

func (w *witness) once(x *exchange) {
	if w.times[x]++; w.times[x] > 1 {
		w.t.Fatalf("exchange %d ended %d times", x.number, w.times[x])
	}
}

func (w *witness) want(t *testing.T, want ...outcome) {
	t.Helper()
	if diff := cmp.Diff(want, w.ended); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func get(path string) *Request {
	return &Request{method: "GET", scheme: "http", authority: "example.test", path: path, expect: Expect{Body: -1}}
}

func post(path string, body string) *Request {
	r := get(path)
	r.method, r.body = "POST", []byte(body)
	return r
}

// A script is what a server says, made with x/net's Framer and HPACK.
type script struct {
	bytes.Buffer
	*http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func newScript() *script {
	s := &script{}
	s.Framer = http2.NewFramer(&s.Buffer, nil)
	s.AllowIllegalWrites = true
	s.encoder = hpack.NewEncoder(&s.block)
	return s
}

// greeted is a script that begins with settings.
func greeted(settings ...http2.Setting) *script {
	s := newScript()
	_ = s.WriteSettings(settings...)
	return s
}

// fields encodes pairs of names and values.
func (s *script) fields(pairs ...string) []byte {
	s.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = s.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(s.block.Bytes())
}

// head writes a whole header block.
func (s *script) head(stream uint32, last bool, pairs ...string) {
	_ = s.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: s.fields(pairs...), EndHeaders: true, EndStream: last,
	})
}

// A sitting is a codec and its witness.
type sitting struct {
	*witness
	codec codec
	next  uint64
	sent  []byte
	// reader is the server's, which reads what was sent.
	reader  *http2.Framer
	arrived bytes.Buffer
}

func sit(t testing.TB, streams int, grpc bool) *sitting {
	w := newWitness(t)
	s := &sitting{witness: w}
	if grpc {
		s.codec = newGRPC(w, streams)
	} else {
		s.codec = newHTTP2(w, streams)
	}
	s.sent = s.codec.greet(nil)
	return s
}

// request sends a request.
func (s *sitting) request(r *Request) *exchange {
	s.next++
	x := &exchange{request: r, number: s.next}
	s.sent = s.codec.request(s.sent, x)
	return x
}

// hear takes what a server says, all of which must be used.
func (s *sitting) hear(data []byte) error {
	used, out, err := s.codec.receive(data, false, s.sent)
	s.sent = out
	if err == nil && used != len(data) {
		s.t.Errorf("used %d of %d bytes", used, len(data))
	}
	return err
}

// settle is hear for settings alone.
func (s *sitting) settle(settings ...http2.Setting) *sitting {
	if err := s.hear(greeted(settings...).Bytes()); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// A sentFrame is what the codec has sent, as x/net reads it.
type sentFrame struct {
	Kind   string
	Stream uint32
	Fields []string
	Size   int
	Ended  bool
	Code   uint32
}

// frames reads what was sent since it was last called.
func (s *sitting) frames() []sentFrame {
	s.t.Helper()
	if s.reader == nil {
		s.reader = http2.NewFramer(nil, &s.arrived)
		s.reader.ReadMetaHeaders = hpack.NewDecoder(initialTable, nil)
	}
	s.arrived.Write(bytes.TrimPrefix(s.sent, []byte(http2Preface)))
	s.sent = nil
	var out []sentFrame
	for {
		f, err := s.reader.ReadFrame()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			s.t.Fatalf("x/net does not read what was sent: %v", err)
		}
		out = append(out, sentFrameOf(f))
	}
}

func sentFrameOf(f http2.Frame) sentFrame {
	h := f.Header()
	out := sentFrame{Kind: h.Type.String(), Stream: h.StreamID}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		out.Ended = f.StreamEnded()
		for _, field := range f.Fields {
			out.Fields = append(out.Fields, field.Name+": "+field.Value)
		}
	case *http2.DataFrame:
		out.Ended, out.Size = f.StreamEnded(), len(f.Data())
	case *http2.RSTStreamFrame:
		out.Code = uint32(f.ErrCode)
	case *http2.WindowUpdateFrame:
		out.Size = int(f.Increment)
	case *http2.SettingsFrame:
		out.Ended = f.IsAck()
	}
	return out
}
