package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzWebSocket gives a server's bytes to a codec with an upgrade and two
// messages under way, whole and in parts: both must end alike.
func FuzzWebSocket(f *testing.F) {
	f.Add([]byte(accepted+"\x02\x02ab\x89\x01a\x80\x01c\x81\x00\x88\x02\x03\xe8"), uint16(150))
	f.Add([]byte(accepted+"\x82\x7e\x00\x80"+strings.Repeat("x", 128)+"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"), uint16(140))
	f.Add([]byte("HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nabc"), uint16(40))
	f.Fuzz(func(t *testing.T, said []byte, cut uint16) {
		play := func(at int) ([]outcome, error) {
			w := newWitness(t)
			c := upgraded(t, w, "")
			second := &exchange{request: message("2"), number: 2}
			c.waiting.push(second)
			used, _, err := c.receive(said[:at], false, nil)
			if used < 0 || used > at {
				t.Fatalf("used %d of %d bytes", used, at)
			}
			if err == nil && at < len(said) {
				_, _, err = c.receive(said[used:], false, nil)
			}
			if err == nil {
				c.ended()
			}
			if c.room() < 0 || c.out != nil {
				t.Fatalf("room for %d", c.room())
			}
			return w.ended, err
		}
		whole, errWhole := play(len(said))
		parts, errParts := play(int(cut) % (len(said) + 1))
		if errWhole != errParts {
			t.Fatalf("%q cut at %d: %v; whole: %v", said, cut, errParts, errWhole)
		}
		if diff := cmp.Diff(whole, parts); diff != "" {
			t.Fatalf("%q cut at %d (-whole +parts):\n%s", said, cut, diff)
		}
	})
}
