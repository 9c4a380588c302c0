package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A counter is an owner that only counts what is wrong.
type counter struct{ wrong int }

func (u *counter) answered(x *exchange, a *answer) {
	if x.request.expect.classify(a) != OK {
		u.wrong++
	}
}

func (u *counter) failed(*exchange, Class) { u.wrong++ }

// A tape is what a server has said, in frames whose streams are put in.
type tape struct {
	bytes  []byte
	frames []int // offsets
}

func newTape(said []byte) *tape {
	t := &tape{bytes: bytes.Clone(said)}
	for at := 0; at < len(t.bytes); {
		t.frames = append(t.frames, at)
		at += frameHeaderSize + parseFrame(t.bytes[at:]).left
	}
	return t
}

func (t *tape) play(stream uint32) []byte {
	for _, at := range t.frames {
		t.bytes[at+5], t.bytes[at+6], t.bytes[at+7], t.bytes[at+8] = byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream)
	}
	return t.bytes
}

var benchFields = []string{
	":status", "200", "server", "envoy", "date", "Tue, 01 Sep 2026 10:00:00 GMT", "content-type", "text/plain",
	"content-length", "11", "gatemark-route", "route-17", "gatemark-generation", "12", "gatemark-pod", "echo-5f6d8c-abcde",
}

// benchTapes are the same answer, with HPACK's table cold and warm.
func benchTapes(grpc bool) (cold, warm *tape) {
	s := newScript()
	answer := func() *tape {
		s.Buffer.Reset()
		if grpc {
			s.head(1, false, append([]string{":status", "200", "content-type", "application/grpc"}, benchFields[10:]...)...)
			_ = s.WriteData(1, false, []byte("\x00\x00\x00\x00\x06answer"))
			s.head(1, true, "grpc-status", "0", "grpc-message", "")
		} else {
			s.head(1, false, benchFields...)
			_ = s.WriteData(1, true, []byte("hello world"))
		}
		return newTape(s.Bytes())
	}
	return answer(), answer()
}

// benchTurn makes a codec whose tables are warm, and returns a request and its
// answer.
func benchTurn(t testing.TB, grpc bool, r *Request) func() {
	u := &counter{}
	c := newHTTP2(u, 10)
	if grpc {
		c = newGRPC(u, 10)
	}
	out := c.greet(nil)
	if _, _, err := c.receive(greeted().Bytes(), false, nil); err != nil {
		t.Fatal(err)
	}
	x := &exchange{request: r}
	play := func(said *tape) {
		out = c.request(out[:0], x)
		data := said.play(x.stream)
		used, _, err := c.receive(data, false, out[:0])
		if err != nil || used != len(data) || u.wrong > 0 {
			t.Fatalf("used %d of %d bytes, %d wrong, %v", used, len(data), u.wrong, err)
		}
		x.number++
	}
	cold, warm := benchTapes(grpc)
	play(cold)
	play(warm)
	play(warm)
	return func() { play(warm) }
}

func benchmarkCodec(b *testing.B, grpc bool, r *Request) {
	turn := benchTurn(b, grpc, r)
	b.ReportAllocs()
	for b.Loop() {
		turn()
	}
}

func BenchmarkHTTP2Codec(b *testing.B) {
	plain := get("/path/of/a/request")
	plain.header = []headerField{{name: "user-agent", value: "gatemark"}}
	numbered := get("/path/of/" + string(numberMark))
	b.Run("get", func(b *testing.B) { benchmarkCodec(b, false, plain) })
	b.Run("numbered", func(b *testing.B) { benchmarkCodec(b, false, numbered) })
	b.Run("post", func(b *testing.B) { benchmarkCodec(b, false, post("/", "hello world")) })
	b.Run("grpc", func(b *testing.B) { benchmarkCodec(b, true, post("/test.Echo/Say", "hello world")) })
}

// BenchmarkHTTP2Changing has each answer carry another field, which the server
// adds to HPACK's table, as x/net's does, or does not, as nginx does.
func BenchmarkHTTP2Changing(b *testing.B) {
	for _, indexed := range []bool{true, false} {
		b.Run(fmt.Sprintf("indexed=%v", indexed), func(b *testing.B) {
			u := &counter{}
			c := newHTTP2(u, 10)
			out := c.greet(nil)
			s := greeted()
			if _, _, err := c.receive(s.Bytes(), false, nil); err != nil {
				b.Fatal(err)
			}
			const different = 1000
			var answers []*tape
			for i := range different {
				s.Buffer.Reset()
				s.block.Reset()
				fields := append(benchFields[:len(benchFields):len(benchFields)], "gatemark-delay-applied", strconv.Itoa(1_000_000+i))
				for j := 0; j < len(fields); j += 2 {
					_ = s.encoder.WriteField(hpack.HeaderField{Name: fields[j], Value: fields[j+1], Sensitive: !indexed && j == len(fields)-2})
				}
				_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: false, BlockFragment: s.block.Bytes()})
				_ = s.WriteData(1, true, []byte("hello world"))
				answers = append(answers, newTape(s.Bytes()))
			}
			x := &exchange{request: get("/")}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				out = c.request(out[:0], x)
				if _, _, err := c.receive(answers[i].play(x.stream), false, out[:0]); err != nil {
					b.Fatal(err)
				}
				if i++; i == different {
					i = different / 2 // the table is full, and stays so
				}
			}
		})
	}
}

// BenchmarkHTTP2Framer is what x/net's Framer alone costs for the same answer,
// from a reader in memory: beside BenchmarkHTTP2Codec/get, it is why the codec
// reads frames by itself.
func BenchmarkHTTP2Framer(b *testing.B) {
	_, warm := benchTapes(false)
	reader := bytes.NewReader(nil)
	framer := http2.NewFramer(io.Discard, reader)
	framer.SetReuseFrames()
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(warm.play(1))
		for {
			if _, err := framer.ReadFrame(); err != nil {
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				break
			}
		}
	}
}

func BenchmarkWebSocketCodec(b *testing.B) {
	for _, size := range []int{16, 2048} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			w := newWitness(b)
			c := upgraded(b, w, accepted)
			u := &counter{}
			c.owner = u
			c.waiting.pop()
			x := &exchange{request: message(string(make([]byte, size)))}
			said, _ := appendFrameHeader(nil, opBinary, size)
			said[1] &^= 0x80
			said = append(said[:len(said)-4], make([]byte, size)...)
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				out = c.request(out[:0], x)
				if _, _, err := c.receive(said, false, out[:0]); err != nil {
					b.Fatal(err)
				}
			}
			if u.wrong > 0 {
				b.Fatal(u.wrong, "wrong")
			}
		})
	}
}
