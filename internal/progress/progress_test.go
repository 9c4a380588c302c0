package progress

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// printer returns a Printer off a terminal whose clock is set by the test.
func printer() (*Printer, *bytes.Buffer, *time.Time) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := New(&out)
	p.now = func() time.Time { return now }
	return p, &out, &now
}

func TestPlainLines(t *testing.T) {
	p, out, now := printer()
	s := p.Step("build")
	s.Update("1 of 3") // at once: not worth a line in a log
	*now = now.Add(11 * time.Second)
	s.Update("2 of 3")
	*now = now.Add(5 * time.Second)
	s.Update("3 of 3")
	s.Conclude("all %d", 3)
	s.Done()
	s.Done() // once is enough
	s.Update("too late")
	want := "… build: 2 of 3  (11s)\n✓ build: all 3  (16s)\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out, want)
	}
}

func TestDo(t *testing.T) {
	p, out, _ := printer()
	boom := errors.New("boom")
	err := p.Do(context.Background(), "load", func(context.Context, func(string, ...any)) error { return boom })
	if !errors.Is(err, boom) || out.String() != "✗ load\n" {
		t.Errorf("%v, printed %q", err, out)
	}
}

func TestALiveLineIsRedrawnWithinItsWidth(t *testing.T) {
	p, out, _ := printer()
	p.live, p.width = true, 20
	s := p.Step("a step with a long name")
	s.Update("and a status")
	p.Printf("between")
	s.Fail()
	for _, line := range strings.Split(out.String(), "\r\x1b[K") {
		if text := strings.TrimSuffix(line, "\n"); text == line && len([]rune(text)) >= 20 {
			t.Errorf("%q does not fit into 20 columns", text)
		}
	}
	if !strings.HasSuffix(out.String(), "between\n✗ a step with a long name: and a status\n") {
		t.Errorf("printed %q", out)
	}
}

func TestNilPrintsNothing(t *testing.T) {
	var p *Printer
	s := p.Step("x")
	s.Update("y")
	s.Conclude("z")
	s.Done()
	p.Printf("w")
}
