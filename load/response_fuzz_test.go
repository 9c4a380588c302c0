package load

import (
	"bufio"
	"bytes"
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

var fuzzSeeds = []string{
	plain, typical, plain + plain,
	"HTTP/1.1 100 Continue\r\n\r\n" + plain,
	"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nabc",
	"HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n",
	"HTTP/1.1 101 x\r\n\r\n\x00",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\na: b\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 01\r\nConnection: close, x\r\nContent-Length: 01\r\n\r\nx",
	"HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
}

// FuzzResponse holds the parser against net/http: what the parser accepts,
// net/http accepts too, and reads the same out of it, however the bytes are
// split. The reverse is not asked for: the parser is stricter.
func FuzzResponse(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(seed), uint16(len(seed)/2), false)
	}
	f.Fuzz(check)
}

// TestMutatedResponses does the same on many inputs that are nearly right,
// which go deeper than random ones, and are the same each time.
func TestMutatedResponses(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	accepted := 0
	for range *mutations {
		input := []byte(fuzzSeeds[random.IntN(len(fuzzSeeds))])
		for range random.IntN(4) {
			input = mutate(random, input)
		}
		if check(t, input, uint16(random.IntN(1<<16)), random.IntN(8) == 0); complete(input) {
			accepted++
		}
	}
	t.Logf("%d of %d accepted", accepted, *mutations)
	if accepted < *mutations/10 {
		t.Errorf("only %d of %d inputs were accepted: nothing was compared", accepted, *mutations)
	}
}

// go test -run TestMutatedResponses ./load -mutations 5000000
var mutations = flag.Int("mutations", 20_000, "inputs of TestMutatedResponses")

// mutate changes one byte, or copies or drops a stretch or a line.
func mutate(random *rand.Rand, input []byte) []byte {
	if len(input) == 0 {
		return input
	}
	const spice = "\r\n\t :,;0123456789abcdefABCDEFxX\x00\x7f\x80"
	from := random.IntN(len(input))
	to := from + random.IntN(min(20, len(input)-from)+1)
	switch random.IntN(5) {
	case 0:
		input[from] = spice[random.IntN(len(spice))]
		return input
	case 1:
		return slices.Insert(input, from, spice[random.IntN(len(spice))])
	case 2:
		return slices.Delete(input, from, to)
	case 3:
		return slices.Insert(input, from, slices.Clone(input[from:to])...)
	}
	lines := bytes.SplitAfter(input, []byte("\n"))
	a, b := random.IntN(len(lines)), random.IntN(len(lines))
	return bytes.Join(slices.Insert(lines, a, lines[b]), nil)
}

func complete(input []byte) bool {
	var r Response
	r.Reset(false)
	_, done, err := r.Parse(input, false)
	return done || err == nil && r.EOF()
}

func check(t *testing.T, input []byte, split uint16, head bool) {
	var whole, parts Response
	whole.Reset(head)
	used, done, err := whole.Parse(input, false)
	if used < 0 || used > len(input) {
		t.Fatalf("used %d of %d bytes", used, len(input))
	}
	parts.Reset(head)
	cut := int(split) % (len(input) + 1)
	usedSplit, doneSplit, errSplit := parse(&parts, string(input), cut)
	if done != doneSplit || (err == nil) != (errSplit == nil) || err == nil && used != usedSplit {
		t.Fatalf("%q split at %d: used %d, done %v, %v; whole: used %d, done %v, %v", input, cut, usedSplit, doneSplit, errSplit, used, done, err)
	}
	remembered(t, input, &whole, used, done, err, head)
	if done || err == nil && whole.EOF() {
		agree(t, input[:used], &whole, head)
	}
}

// remembered reads the same again and again with a memory of the last head.
func remembered(t *testing.T, input []byte, first *Response, used int, done bool, err error, head bool) {
	r := Response{heads: &lastHead{}}
	for range keepAfter + 2 {
		r.Reset(head)
		usedAgain, doneAgain, errAgain := r.Parse(input, false)
		if usedAgain != used || doneAgain != done || errAgain != err {
			t.Fatalf("%q remembered: used %d, done %v, %v; first: used %d, done %v, %v", input, usedAgain, doneAgain, errAgain, used, done, err)
		}
		if err == nil && (r.Status != first.Status || r.Body != first.Body || r.Close != first.Close || r.Delay != first.Delay ||
			r.Informational != first.Informational || r.Marker.Marker() != first.Marker.Marker() || r.state != first.state || r.left != first.left) {
			t.Fatalf("%q remembered: %+v, first: %+v", input, r, first)
		}
	}
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
