package known

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// serve runs a server and returns its address, and what ends it and returns
// its records.
func serve(t *testing.T, o Options) (address string, finish func() []Record) {
	t.Helper()
	if o.Delay.draw == nil {
		o.Delay = delay(t, "fixed:0s")
	}
	s, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	port, err := s.Port()
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	var once sync.Once
	ended := make(chan error, 1)
	go func() {
		var err error
		records, err = s.Run()
		ended <- err
	}()
	finish = func() []Record {
		once.Do(func() {
			if err := errors.Join(s.Stop(), <-ended); err != nil {
				t.Error(err)
			}
		})
		return records
	}
	t.Cleanup(func() { finish() })
	return fmt.Sprintf("127.0.0.1:%d", port), finish
}

func delay(t *testing.T, text string) Delay {
	t.Helper()
	d, err := ParseDelay(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// client has one connection, and tries nothing again by itself: a POST that is
// reset must not be sent twice.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1, DisableCompression: true}, Timeout: 10 * time.Second}
}

func TestDelays(t *testing.T) {
	const n, want = 20, 3 * time.Millisecond
	address, finish := serve(t, Options{Delay: delay(t, "fixed:3ms")})
	c := client()
	defer c.CloseIdleConnections()
	for i := range n {
		before := time.Now()
		response, err := c.Get("http://" + address + "/")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(before)
		if string(body) != piece || response.StatusCode != http.StatusOK {
			t.Errorf("answered %d, %q", response.StatusCode, body)
		}
		if got := response.Header.Get("Gatemark-Request"); got != strconv.Itoa(i+1) {
			t.Errorf("request %d was number %s", i+1, got)
		}
		applied, err := strconv.ParseInt(response.Header.Get("Gatemark-Delay-Applied"), 10, 64)
		if err != nil || time.Duration(applied) < want || time.Duration(applied) > took {
			t.Errorf("asked for %v, took %v, told %v, %v", want, took, time.Duration(applied), err)
		}
	}
	records := finish()
	if len(records) != n {
		t.Fatalf("%d records of %d requests", len(records), n)
	}
	for i, r := range records {
		if r.Outcome != Answered || r.Number != uint32(i) || r.Port != records[0].Port || r.Port == 0 {
			t.Errorf("record %d: %+v", i, r)
		}
		if r.Arrived > r.Read || r.Written-r.Read < int64(want) {
			t.Errorf("record %d: arrived, read, written at %d, %d, %d", i, r.Arrived, r.Read, r.Written)
		}
	}
}

// TestFailures: which requests fail is exact, and so is the record.
func TestFailures(t *testing.T) {
	address, finish := serve(t, Options{FailEvery: 10, ResetEvery: 25})
	c := client()
	defer c.CloseIdleConnections()
	failed, reset := 0, 0
	for range 100 {
		response, err := c.Post("http://"+address+"/", "text/plain", http.NoBody)
		switch {
		case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
			reset++
		case err != nil:
			t.Fatal(err)
		default:
			if response.StatusCode == http.StatusServiceUnavailable {
				failed++
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	count := map[Outcome]int{}
	for _, r := range finish() {
		count[r.Outcome]++
	}
	// 50 and 100 would do both, and are reset.
	if diff := cmp.Diff(map[Outcome]int{Answered: 88, Failed: 8, Reset: 4}, count); diff != "" || failed != 8 || reset != 4 {
		t.Errorf("the client saw %d failures and %d resets; outcomes (-want +got):\n%s", failed, reset, diff)
	}
}

// TestAResetIsAReset and not an orderly end, which clients may forgive.
func TestAResetIsAReset(t *testing.T) {
	address, _ := serve(t, Options{ResetEvery: 1})
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading got %v", err)
	}
}

// TestTrickle: the body comes in pieces, and the record's end is the last.
func TestTrickle(t *testing.T) {
	address, finish := serve(t, Options{Pieces: 4, Gap: 5 * time.Millisecond})
	c := client()
	defer c.CloseIdleConnections()
	response, err := c.Get("http://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != piece+piece+piece+piece {
		t.Errorf("body %q, %v", body, err)
	}
	records := finish()
	if len(records) != 1 || records[0].Written-records[0].Read < int64(15*time.Millisecond) {
		t.Errorf("records %+v", records)
	}
}

// TestManyAtOnce: each connection waits for itself, and requests that come
// together are answered in turn.
func TestManyAtOnce(t *testing.T) {
	const connections, each = 50, 20
	address, finish := serve(t, Options{Delay: delay(t, "exponential:1ms"), Seed: 7})
	var group sync.WaitGroup
	for range connections {
		group.Go(func() {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			var all string
			for range each {
				all += "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
			}
			if _, err := io.WriteString(c, all); err != nil {
				t.Error(err)
				return
			}
			if err := readBodies(c, each); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	perConnection := map[uint16]int{}
	for _, r := range finish() {
		if r.Outcome != Answered || int(r.Number) != perConnection[r.Port] {
			t.Errorf("record %+v is request %d of its connection", r, perConnection[r.Port])
		}
		perConnection[r.Port]++
	}
	if len(perConnection) != connections {
		t.Errorf("%d connections", len(perConnection))
	}
}

// readBodies reads until that many bodies have come.
func readBodies(r io.Reader, n int) error {
	var all []byte
	for buffer := make([]byte, 4096); bytes.Count(all, []byte("\r\n\r\n"+piece)) < n; {
		k, err := r.Read(buffer)
		if err != nil {
			return fmt.Errorf("after %q: %w", all, err)
		}
		all = append(all, buffer[:k]...)
	}
	return nil
}

func TestRecordsSurviveTheFile(t *testing.T) {
	want := []Record{
		{Port: 40000, Number: 3, Arrived: 1, Read: 2, Written: 3, Outcome: Failed},
		{Port: 65535, Number: 1 << 31, Arrived: 1 << 62, Read: -1, Outcome: Open},
	}
	path := filepath.Join(t.TempDir(), "records")
	if err := WriteRecords(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecords(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
