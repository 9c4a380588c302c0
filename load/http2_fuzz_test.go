package load

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
)

// http2Seeds are things that servers say.
func http2Seeds() [][]byte {
	plain := greeted()
	for _, stream := range []uint32{1, 3, 5, 7} {
		plain.head(stream, false, ":status", "200", "content-length", "3", "gatemark-route", "r")
		_ = plain.WriteData(stream, true, []byte("abc"))
	}
	calls := greeted(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 20})
	calls.head(5, false, ":status", "200", "content-type", "application/grpc")
	_ = calls.WriteWindowUpdate(5, 100)
	_ = calls.WriteData(5, false, []byte("\x00\x00\x00\x00\x02ab"))
	calls.head(5, true, "grpc-status", "0", "grpc-message", "")
	calls.head(3, true, ":status", "200", "grpc-status", "12")
	odd := greeted(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
	odd.head(1, false, ":status", "103", "link", "x")
	block := odd.fields(":status", "404", "date", "today")
	_ = odd.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:2], PadLength: 5, Priority: http2.PriorityParam{StreamDep: 7, Weight: 9}})
	_ = odd.WriteContinuation(1, true, block[2:])
	_ = odd.WriteDataPadded(1, true, []byte("ab"), make([]byte, 3))
	_ = odd.WritePing(false, [8]byte{})
	_ = odd.WriteWindowUpdate(0, 1000)
	_ = odd.WriteRSTStream(3, http2.ErrCodeCancel)
	_ = odd.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5})
	_ = odd.WriteGoAway(5, http2.ErrCodeNo, []byte("bye"))
	odd.head(5, true, ":status", "204")
	return [][]byte{plain.Bytes(), calls.Bytes(), odd.Bytes()}
}

// FuzzHTTP2Codec gives a server's bytes to a codec with requests under way,
// whole and in parts: neither may loop, each exchange ends at most once, the
// codec's counts stay right, both end alike, and what is sent is HTTP/2.
func FuzzHTTP2Codec(f *testing.F) {
	for _, seed := range http2Seeds() {
		f.Add(seed, uint16(len(seed)/2), false)
		f.Add(seed, uint16(7), true)
	}
	f.Fuzz(func(t *testing.T, said []byte, cut uint16, grpc bool) { checkHTTP2(t, said, cut, grpc) })
}

// TestMutatedHTTP2 does the same on many inputs that are nearly right, which
// are the same each time.
func TestMutatedHTTP2(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	seeds := http2Seeds()
	understood := 0
	for range *mutations / 20 {
		said := append([]byte(nil), seeds[random.IntN(len(seeds))]...)
		for range random.IntN(4) {
			said = mutate(random, said)
		}
		if checkHTTP2(t, said, uint16(random.IntN(1<<16)), random.IntN(2) == 0) == nil {
			understood++
		}
	}
	t.Logf("%d of %d understood", understood, *mutations/20)
	if understood < *mutations/200 {
		t.Errorf("only %d of %d inputs were understood to the end", understood, *mutations/20)
	}
}

func checkHTTP2(t *testing.T, said []byte, cut uint16, grpc bool) error {
	at := int(cut) % (len(said) + 1)
	whole, errWhole := playHTTP2(t, said, len(said), grpc)
	parts, errParts := playHTTP2(t, said, at, grpc)
	if errWhole != errParts {
		t.Fatalf("%x cut at %d: %v; whole: %v", said, at, errParts, errWhole)
	}
	if diff := cmp.Diff(whole.ended, parts.ended); diff != "" {
		t.Fatalf("%x cut at %d (-whole +parts):\n%s", said, at, diff)
	}
	return errWhole
}

func playHTTP2(t *testing.T, said []byte, cut int, grpc bool) (*sitting, error) {
	s := sit(t, 4, grpc)
	h := s.codec.(*http2Codec)
	h.settled = true // so that all can be sent at once
	head := get("/head")
	head.method, head.head = "HEAD", true
	s.request(get("/"))
	forgotten := s.request(head)
	s.request(post("/", "small"))
	s.request(post("/", string(make([]byte, 70_000))))
	h.settled = false
	s.frames()
	used, err := s.give(said[:cut])
	if err == nil && s.times[forgotten] == 0 && len(said)%5 == 0 && cut == len(said) {
		s.sent, _ = s.codec.forget(forgotten, s.sent)
		checkCounts(t, h)
	}
	if err == nil && cut < len(said) {
		_, err = s.give(said[used:])
	}
	s.frames()
	return s, err
}

// give hands bytes over, and checks what must always hold.
func (s *sitting) give(data []byte) (int, error) {
	used, out, err := s.codec.receive(data, false, s.sent)
	s.sent = out
	if used < 0 || used > len(data) {
		s.t.Fatalf("used %d of %d bytes", used, len(data))
	}
	checkCounts(s.t, s.codec.(*http2Codec))
	return used, err
}

func checkCounts(t testing.TB, h *http2Codec) {
	open, blocked := 0, 0
	for _, x := range h.slots {
		if x != nil {
			open++
			if x.state.http2.unsent > 0 {
				blocked++
			}
		}
	}
	if open != h.open || blocked != h.flow.blocked || h.room() < 0 || h.out != nil {
		t.Fatalf("%d streams are open, %d held back; counted: %d, %d; room %d", open, blocked, h.open, h.flow.blocked, h.room())
	}
}
