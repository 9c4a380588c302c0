package load

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzResponse holds the parser against net/http: what the parser accepts,
// net/http accepts too, and reads the same out of it, however the bytes are
// split. The reverse is not asked for: the parser is stricter.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		plain, typical, plain + plain,
		"HTTP/1.1 100 Continue\r\n\r\n" + plain,
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nabc",
		"HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 101 x\r\n\r\n\x00",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\na: b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 01\r\nConnection: close, x\r\nContent-Length: 01\r\n\r\nx",
		"HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
	} {
		f.Add([]byte(seed), uint16(len(seed)/2), false)
	}
	f.Fuzz(func(t *testing.T, input []byte, split uint16, head bool) {
		var whole, split2 Response
		whole.Reset(head)
		used, done, err := whole.Parse(input, false)
		if used < 0 || used > len(input) {
			t.Fatalf("used %d of %d bytes", used, len(input))
		}
		split2.Reset(head)
		cut := int(split) % (len(input) + 1)
		usedSplit, doneSplit, errSplit := parse(&split2, string(input), cut)
		if done != doneSplit || (err == nil) != (errSplit == nil) || err == nil && used != usedSplit {
			t.Fatalf("split at %d: used %d, done %v, %v; whole: used %d, done %v, %v", cut, usedSplit, doneSplit, errSplit, used, done, err)
		}
		complete := done || err == nil && whole.EOF()
		if !complete {
			return
		}
		agree(t, input[:used], &whole, head)
	})
}

// agree reads the same bytes with net/http and compares.
func agree(t *testing.T, input []byte, ours *Response, head bool) {
	method := http.MethodGet
	if head {
		method = http.MethodHead
	}
	buffered := bufio.NewReader(bytes.NewReader(input))
	var theirs *http.Response
	informational := -1
	for theirs == nil || theirs.StatusCode < 200 && theirs.StatusCode != 101 {
		var err error
		if theirs, err = http.ReadResponse(buffered, &http.Request{Method: method}); err != nil {
			if strings.Contains(err.Error(), "bad trailer key") {
				return // net/http judges the Trailer field, which announces and changes nothing
			}
			t.Fatalf("net/http refuses %q: %v", input, err)
		}
		informational++
	}
	body, err := io.ReadAll(theirs.Body)
	if err != nil {
		t.Fatalf("net/http refuses the body of %q: %v", input, err)
	}
	if theirs.StatusCode != ours.Status || informational != ours.Informational {
		t.Fatalf("status %d after %d informational, net/http has %d after %d", ours.Status, ours.Informational, theirs.StatusCode, informational)
	}
	// To net/http the answer to an upgrade is a body that lasts until the
	// connection's end.
	if ours.Status != 101 && int64(len(body)) != ours.Body {
		t.Fatalf("body of %d bytes, net/http has %d", ours.Body, len(body))
	}
	if theirs.Close && !ours.Close {
		t.Fatalf("kept open, net/http closes: %q", input)
	}
	if rest, _ := io.ReadAll(buffered); len(rest) > 0 {
		t.Fatalf("net/http leaves %q", rest)
	}
	compareMarker(t, ours, theirs)
}

// compareMarker compares the fields that came once; of two that differ the
// parser only says that they do.
func compareMarker(t *testing.T, ours *Response, theirs *http.Response) {
	got := ours.Marker.Marker()
	for name, value := range map[string]string{"Gatemark-Route": got.Route, "Gatemark-Pod": got.Pod, "Gatemark-Instance": got.Instance} {
		if all := theirs.Header[name]; len(all) == 1 && all[0] != value || len(all) == 0 && value != "" {
			t.Fatalf("%s is %q, net/http has %q", name, value, all)
		}
	}
}
