package echo

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/echo/fault"
	"github.com/gatemark/gatemark/marker"
)

// faults reads faults for a test.
func faults(tb testing.TB, text string) fault.Faults {
	tb.Helper()
	f, err := fault.Decode([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// ask asks once on a connection of its own.
func ask(s *Server, path string, fields ...string) (status int, header http.Header, body []byte, err error) {
	conn, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		return 0, nil, nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	return askOn(conn, path, fields...)
}

func askOn(conn net.Conn, path string, fields ...string) (status int, header http.Header, body []byte, err error) {
	request := "GET " + path + " HTTP/1.1\r\nHost: h.example\r\n"
	for _, field := range fields {
		request += field + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return 0, nil, nil, err
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, nil, nil, err
	}
	body, err = io.ReadAll(r.Body)
	return r.StatusCode, r.Header, body, err
}

func TestStatusEveryNth(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"match":{"path":"/a"},"every":7,"status":{"code":503,"retryAfter":"2s"}}]}`)})
	seen := map[string]int{}
	for i := range 210 {
		path := "/a"
		if i%3 == 2 {
			path = "/b"
		}
		status, header, _, err := ask(s, path)
		if err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprint(path, " ", status, " ", header.Get("Retry-After"))]++
	}
	if diff := cmp.Diff(map[string]int{"/a 200 ": 120, "/a 503 2": 20, "/b 200 ": 70}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := s.Counters()
	if diff := cmp.Diff(map[string]int64{"status": 20}, got.Applied); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]RouteCount{{"", 200, 190}, {"", 503, 20}}, got.Routes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEndings holds what a client sees of each way to end badly against the
// counts: each exactly once in three.
func TestEndings(t *testing.T) {
	for name, c := range map[string]struct {
		rule  string
		check func(status int, body []byte, err error) error
	}{
		"reset": {`"reset":{}`, func(_ int, _ []byte, err error) error {
			if !errors.Is(err, syscall.ECONNRESET) {
				return errors.New("want a reset")
			}
			return nil
		}},
		"reset in the middle": {`"reset":{"at":"middle"}`, func(status int, body []byte, err error) error {
			if status != 200 || len(body) != 50 || !errors.Is(err, syscall.ECONNRESET) {
				return errors.New("want half a body and a reset")
			}
			return nil
		}},
		"close": {`"close":{}`, func(_ int, _ []byte, err error) error {
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				return errors.New("want an end without an answer")
			}
			return nil
		}},
		"garbage": {`"garbage":{}`, func(_ int, _ []byte, err error) error {
			if err == nil || !strings.Contains(err.Error(), "malformed HTTP") {
				return errors.New("want something malformed")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"every":3,`+c.rule+`}]}`)})
			for i := range 30 {
				status, _, body, err := ask(s, "/?size=100")
				if i%3 == 2 {
					if problem := c.check(status, body, err); problem != nil {
						t.Errorf("request %d: %v, got status %d, %d bytes, %v", i, problem, status, len(body), err)
					}
				} else if err != nil || status != 200 || len(body) != 100 {
					t.Errorf("request %d: status %d, %d bytes, %v", i, status, len(body), err)
				}
			}
			got := s.Counters()
			if diff := cmp.Diff([]RouteCount{{"", 0, 10}, {"", 200, 20}}, got.Routes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]fault.RuleCount{{Name: got.Rules[0].Kind, Kind: got.Rules[0].Kind, Matched: 30, Applied: 10}}, got.Rules); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHangUntilTheClientGivesUp(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"hang":{}}]}`)})
	conn, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if _, _, _, err := askOn(conn, "/"); err == nil || !err.(net.Error).Timeout() {
		t.Errorf("got %v, want a timeout", err)
	}
	conn.Close()
	eventually(t, "the connection ends", func() bool { return s.Counters().Open == 0 })
	if got := s.Counters(); got.Applied["hang"] != 1 || got.InFlight != 0 || got.MostInFlight != 1 {
		t.Errorf("%+v", got)
	}
}

func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not reached in 10 s: %s", what)
		}
	}
}

func TestTrickle(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"trickle":{"bytes":10,"interval":"3ms"}}]}`)})
	conn, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 2 { // the connection stays usable
		start := time.Now()
		status, _, body, err := askOn(conn, "/?size=95")
		if err != nil || status != 200 || !bytes.Equal(body, page[:95]) {
			t.Errorf("status %d, body %q, %v", status, body, err)
		}
		if took := time.Since(start); took < 30*time.Millisecond {
			t.Errorf("10 pieces, 3 ms apart, took %v", took)
		}
	}
}

func TestDelayIsAppliedToldAndRecorded(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"match":{"path":"/slow"},"delay":{"fixed":"4ms"}}]}`)})
	var sum int64
	for range 20 {
		start := time.Now()
		_, header, _, err := ask(s, "/slow")
		took := time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		applied, err := strconv.ParseInt(header.Get(marker.AppliedHeader), 10, 64)
		if err != nil || applied < int64(4*time.Millisecond) || applied > int64(took) {
			t.Errorf("told %q, client waited %v", header.Get(marker.AppliedHeader), took)
		}
		sum += applied
	}
	if _, header, _, err := ask(s, "/fast"); err != nil || header.Get(marker.AppliedHeader) != "" {
		t.Errorf("without a delay: %v, %v", header, err)
	}
	got := s.Counters().Delays
	if got.Count != 20 || got.Min < int64(4*time.Millisecond)*999/1000 || got.Histogram == "" {
		t.Errorf("%+v", got)
	}
	if mean := float64(sum) / 20; got.Mean < mean*0.999 || got.Mean > mean*1.001 {
		t.Errorf("recorded mean %v, told %v", got.Mean, mean)
	}
}

func TestRequestsAskForThemselves(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"delay":{"fixed":"1h"}},{"close":{}}]}`)})
	status, header, _, err := ask(s, "/", marker.DelayHeader+": 2ms", marker.StatusHeader+": 418")
	applied, _ := strconv.ParseInt(header.Get(marker.AppliedHeader), 10, 64)
	if err != nil || status != 418 || applied < 2e6 {
		t.Errorf("status %d, applied %d, %v", status, applied, err)
	}
	if diff := cmp.Diff(map[string]int64{"delay": 1, "status": 1}, s.Counters().Applied); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{marker.DelayHeader + ": 5", marker.DelayHeader + ": -1s", marker.StatusHeader + ": 600", marker.StatusHeader + ": x"} {
		if status, _, body, err := ask(s, "/", bad); status != 400 || err != nil {
			t.Errorf("%s: status %d, %q, %v", bad, status, body, err)
		}
	}
	if status, header, body, err := askNoContent(s); status != 204 || err != nil || len(body) > 0 || header.Get("Content-Length") != "" {
		t.Errorf("status %d, %v, %q, %v", status, header, body, err)
	}
	if err := s.SetFaults(fault.Faults{IgnoreHeaders: true}); err != nil {
		t.Fatal(err)
	}
	if status, _, _, err := ask(s, "/", marker.DelayHeader+": 1h", marker.StatusHeader+": 418"); status != 200 || err != nil {
		t.Errorf("switched off: status %d, %v", status, err)
	}
}

func askNoContent(s *Server) (int, http.Header, []byte, error) {
	return ask(s, "/?size=9", marker.StatusHeader+": 204", marker.DelayHeader+": 0s")
}

func TestStallHoldsEverythingThenAnswers(t *testing.T) {
	s, _ := serve(t, Options{})
	const length = 250 * time.Millisecond
	start := time.Now()
	if err := s.SetFaults(faults(t, `{"rules":[{"stall":{},"cycle":{"on":"250ms"}}]}`)); err != nil {
		t.Fatal(err)
	}
	answered := make(chan time.Duration)
	for range 10 {
		go func() {
			if status, _, _, err := ask(s, "/"); status != 200 || err != nil {
				t.Errorf("status %d, %v", status, err)
			}
			answered <- time.Since(start)
		}()
	}
	for range 10 {
		if after := <-answered; after < length {
			t.Errorf("answered after %v of %v", after, length)
		}
	}
	if _, header, _, err := ask(s, "/"); err != nil || header.Get(marker.AppliedHeader) != "" {
		t.Errorf("after the stall: %v, %v", header, err)
	}
	if got := s.Counters(); got.Applied["stall"] != 10 || got.Delays.Count != 10 || got.MostInFlight != 10 {
		t.Errorf("applied %v, %d delays, %d in flight", got.Applied, got.Delays.Count, got.MostInFlight)
	}
}

func TestStallEndsWhenFaultsChange(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"stall":{}}]}`)})
	answered := make(chan error)
	go func() {
		_, _, _, err := ask(s, "/")
		answered <- err
	}()
	eventually(t, "a stalled request", func() bool { return s.Counters().InFlight == 1 })
	if err := s.SetFaults(fault.Faults{}); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestRefuse(t *testing.T) {
	s, _ := serve(t, Options{})
	kept, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	eventually(t, "the connection is accepted", func() bool { return s.Counters().Open == 1 })
	if err := s.SetFaults(faults(t, `{"rules":[{"refuse":{},"cycle":{"on":"80ms","off":"80ms","count":2}}]}`)); err != nil {
		t.Fatal(err)
	}
	refused := func() bool {
		_, _, _, err := ask(s, "/")
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	if !refused() {
		t.Error("faults are set, and a connection is not refused")
	}
	if status, _, _, err := askOn(kept, "/"); status != 200 || err != nil {
		t.Errorf("a kept connection: status %d, %v", status, err)
	}
	eventually(t, "the port opens and closes again", func() bool { return s.Counters().Applied["refuse"] == 2 })
	eventually(t, "and opens", func() bool { return !refused() })
	if err := s.SetFaults(faults(t, `{"rules":[{"refuse":{"open":"reset"}}]}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := askOn(kept, "/"); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a kept connection: %v, want a reset", err)
	}
	if err := s.SetFaults(fault.Faults{}); err != nil {
		t.Fatal(err)
	}
	if refused() {
		t.Error("refused without a fault")
	}
}

func TestStopEndsAllThatWaits(t *testing.T) {
	for _, rule := range []string{`{"stall":{}}`, `{"delay":{"fixed":"1h"}}`, `{"hang":{}}`, `{"trickle":{"bytes":1,"interval":"1h"}}`} {
		s, stop := serve(t, Options{Faults: faults(t, `{"rules":[`+rule+`]}`)})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if _, _, _, err := ask(s, "/?size=1"); err == nil {
				t.Errorf("%s: an answer", rule)
			}
		}()
		eventually(t, "the request", func() bool { return s.Counters().InFlight == 1 })
		stop()
		<-ended
	}
}

func TestHealth(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"status":{"code":500}}]}`)})
	check := func(want int) {
		t.Helper()
		if status, _, _, err := ask(s, "/health?x", "User-Agent: probe/1"); status != want || err != nil {
			t.Errorf("status %d, want %d; %v", status, want, err)
		}
	}
	check(500)
	for _, c := range []struct {
		faults string
		want   int
	}{
		{`{"health":{"ignoreFaults":true},"rules":[{"status":{"code":500}}]}`, 200},
		{`{"health":{"ignoreFaults":true,"status":503}}`, 503},
		{`{"health":{"path":"none"}}`, 200},
	} {
		if err := s.SetFaults(faults(t, c.faults)); err != nil {
			t.Fatal(err)
		}
		check(c.want)
	}
	got := s.Counters()
	want := HealthCounts{3, []HealthCount{{"127.0.0.1", "probe/1", 200, 1}, {"127.0.0.1", "probe/1", 500, 1}, {"127.0.0.1", "probe/1", 503, 1}}}
	if diff := cmp.Diff(want, got.Health); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Where there is no endpoint the path is like any other.
	if diff := cmp.Diff([]RouteCount{{"", 200, 1}}, got.Routes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPipelinedRequestsAreNotHeldUpByTheNext(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"match":{"path":"/hang"},"hang":{}}]}`)})
	all := exchange(t, s, "GET / HTTP/1.1\r\n\r\nGET /hang HTTP/1.1\r\n\r\n", 1)
	if all[0].StatusCode != 200 {
		t.Errorf("status %d", all[0].StatusCode)
	}
}

func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
