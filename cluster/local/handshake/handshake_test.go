package handshake

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMessages(t *testing.T) {
	a, b := net.Pipe()
	here, there := New(a), New(b)
	sent := []Message{
		{Kind: Begin, Settings: &Settings{Name: "some", Full: true, Port: 1}},
		{Kind: Failed, Text: "two\nlines", Hints: []string{"a hint"}},
	}
	go func() {
		for _, m := range sent {
			if err := here.Send(m); err != nil {
				t.Error(err)
			}
		}
		here.Close()
	}()
	for _, want := range sent {
		got, err := there.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if _, err := there.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if err := there.Send(Message{Kind: Accept}); err == nil {
		t.Error("sending to nobody is no error")
	}
}
