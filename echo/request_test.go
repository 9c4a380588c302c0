package echo

import (
	"strings"
	"testing"
)

func TestParseDoesNotAllocate(t *testing.T) {
	head := []byte(strings.TrimSuffix(benchRequest, "\r\n\r\n") + "\r\nContent-Length: 5\r\nGatemark-Size: 7")
	var r request
	if n := testing.AllocsPerRun(100, func() {
		if err := r.parse(head); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for each request", n)
	}
	if r.length != 5 || r.size != 7 || string(r.generation) != "1" {
		t.Errorf("got %+v", r)
	}
}
