package load

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/gatemark/gatemark/marker"
)

// randomBlock makes a header block of a few fields, with HPACK's own
// representations of them, some of which refer to the table.
func randomBlock(random *rand.Rand) []byte {
	block := []byte{byte(0x88 + random.IntN(7))} // a status
	if random.IntN(20) == 0 {
		block = append(appendVarint(nil, 0x20, 5, uint64(random.IntN(initialTable))), block...)
	}
	for range random.IntN(4) {
		value := strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(300))
		switch kind := byte(0x40 * random.IntN(2)); random.IntN(4) { // added, or not
		case 0:
			block = appendVarint(block, 0x80, 7, uint64(1+staticEntries+random.IntN(3)))
			continue
		case 1: // the name of date, which is static
			block = appendVarint(block, kind, 4+2*int(kind>>6), 33)
		case 2: // a name from the table
			block = appendVarint(block, kind, 4+2*int(kind>>6), uint64(1+staticEntries+random.IntN(2)))
		case 3:
			name := strings.ToLower([]string{marker.RouteHeader, marker.PodHeader, marker.InstanceHeader}[random.IntN(3)])
			block = append(append(block, kind, byte(len(name))), name...)
		}
		if random.IntN(2) == 0 {
			block = hpack.AppendHuffmanString(appendVarint(block, 0x80, 7, hpack.HuffmanEncodeLength(value)), value)
		} else {
			block = append(appendVarint(block, 0, 7, uint64(len(value))), value...)
		}
	}
	return block
}

// TestHeadReaderAgainstHPACK reads blocks again and again, in random order, and
// holds what they are said to mean against a decoder that decodes them all.
func TestHeadReaderAgainstHPACK(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var r headReader
	r.init()
	read, broken := 0, 0
	for range 3000 {
		r.reset()
		plain := hpack.NewDecoder(initialTable, nil)
		var blocks [][]byte
		for range 1 + random.IntN(12) {
			blocks = append(blocks, randomBlock(random))
		}
		for range 60 {
			block := blocks[random.IntN(len(blocks))]
			fields, errWant := plain.DecodeFull(block)
			h, err := r.read(block)
			if (err == nil) != (errWant == nil) {
				t.Fatalf("%x: %v, want %v", block, err, errWant)
			}
			if err != nil {
				broken++
				break
			}
			read++
			compareHead(t, h, fields)
		}
	}
	t.Logf("%d blocks read, %d refused", read, broken)
	if read < 20_000 || broken < 100 {
		t.Errorf("only %d blocks were read, and %d refused", read, broken)
	}
}

func compareHead(t *testing.T, h *head, fields []hpack.HeaderField) {
	t.Helper()
	var want marker.Fields
	status := 0
	for _, f := range fields {
		want.Set([]byte(f.Name), []byte(f.Value))
		if f.Name == ":status" {
			status = int(number([]byte(f.Value), 3))
		}
	}
	if got := h.marks.fields.Marker(); got != want.Marker() || h.status != status {
		t.Fatalf("status %d, %v; want %d, %v", h.status, got, status, want.Marker())
	}
}

// TestHeadReaderFallsBehind adds the same fields to the table often, as nginx
// does, before one block asks for them.
func TestHeadReaderFallsBehind(t *testing.T) {
	for _, times := range []int{1, 5, maxBehind - 1, maxBehind, maxBehind + 1, 5 * maxBehind} {
		var r headReader
		r.init()
		r.reset()
		for range times {
			for _, name := range []string{"a", "b"} {
				if _, err := r.read([]byte("\x88\x40\x01" + name + "\x01x")); err != nil {
					t.Fatal(err)
				}
			}
		}
		h, err := r.read([]byte("\x88\xbe\xbf"))
		if err != nil || h.broken || h.size != 42+34+34 {
			t.Errorf("%d times: %+v, %v", times, h, err)
		}
		last := initialTable / 34
		if 2*times < last {
			last = 2 * times
		}
		if _, err := r.read(appendVarint([]byte{0x88}, 0x80, 7, uint64(staticEntries+last))); err != nil {
			t.Errorf("%d times: entry %d is missing", times, last)
		}
		if _, err := r.read(appendVarint([]byte{0x88}, 0x80, 7, uint64(staticEntries+last+1))); err == nil {
			t.Errorf("%d times: there is an entry %d", times, last+1)
		}
	}
}
