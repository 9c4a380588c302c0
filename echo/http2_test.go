package echo

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/gatemark/gatemark/marker"
)

// h2c returns a client that speaks HTTP/2 without TLS.
func h2c(t *testing.T) *http.Client {
	t.Helper()
	transport := &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

// fetch asks over a client, with pairs of header fields.
func fetch(client *http.Client, url string, fields ...string) (*http.Response, []byte, error) {
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return nil, nil, err
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, body, err
}

func TestHTTP2EchoesWhatHTTP1Does(t *testing.T) {
	s, _ := serve(t, Options{})
	url := "http://" + s.Address().String()
	http1 := &http.Client{Transport: &http.Transport{}}
	defer http1.CloseIdleConnections()
	http2 := h2c(t)
	for _, c := range []struct {
		path   string
		fields []string
	}{
		{"/", nil},
		{"/", []string{marker.RouteHeader, "ns/r", marker.GenerationHeader, "7"}},
		{"/?size=10", nil},
		{"/?a=b&size=200001", nil},
		{"/", []string{marker.SizeHeader, "33"}},
		{"/?size=x", nil},
		{"/", []string{marker.StatusHeader, "503"}},
		{"/", []string{marker.StatusHeader, "204"}},
		{"/", []string{marker.StatusHeader, "1"}},
		{"/health", nil},
	} {
		var said []string
		for _, client := range []*http.Client{http1, http2} {
			r, body, err := fetch(client, url+c.path, c.fields...)
			if err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			r.Header.Del("Content-Length") // ContentLength tells more
			said = append(said, fmt.Sprint(r.StatusCode, r.ContentLength, r.Header, len(body), strings.TrimSpace(string(body[:min(50, len(body))]))))
		}
		if said[0] != said[1] {
			t.Errorf("%+v:\nHTTP/1.1 %s\nHTTP/2   %s", c, said[0], said[1])
		}
	}
	got := s.Counters()
	for _, p := range got.Protocols {
		if p.Connections != 1 || p.Requests != 10 || p.BytesIn < 200 || p.BytesOut < 200_000 {
			t.Errorf("%+v", p)
		}
	}
	if len(got.Protocols) != 2 || got.Requests != 18 || got.Health.Requests != 2 {
		t.Errorf("%d protocols, %d requests, %d health checks", len(got.Protocols), got.Requests, got.Health.Requests)
	}
}

func TestHTTP2Faults(t *testing.T) {
	for rule, check := range map[string]func(*http.Response, []byte, error) bool{
		`"status":{"code":503,"retryAfter":"9s"}`: func(r *http.Response, _ []byte, err error) bool {
			return err == nil && r.StatusCode == 503 && r.Header.Get("Retry-After") == "9"
		},
		`"reset":{}`: func(_ *http.Response, _ []byte, err error) bool {
			var stream http2.StreamError
			return errors.As(err, &stream)
		},
		`"reset":{"at":"middle"}`: func(r *http.Response, body []byte, err error) bool {
			var stream http2.StreamError
			return r != nil && r.StatusCode == 200 && len(body) == half/2 && errors.As(err, &stream)
		},
		`"garbage":{}`: func(r *http.Response, body []byte, err error) bool {
			return r != nil && len(body) == half/2 && errors.Is(err, io.ErrUnexpectedEOF)
		},
		`"delay":{"fixed":"3ms"}`: func(r *http.Response, _ []byte, err error) bool {
			applied, _ := strconv.Atoi(r.Header.Get(marker.AppliedHeader))
			return err == nil && r.StatusCode == 200 && applied >= 3e6
		},
		`"trickle":{"bytes":7,"interval":"1ms"}`: func(_ *http.Response, body []byte, err error) bool {
			return err == nil && bytes.Equal(body, page[:40])
		},
	} {
		t.Run(rule, func(t *testing.T) {
			s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"every":3,`+rule+`}]}`)})
			client, hit := h2c(t), 0
			for i := range 30 {
				r, body, err := fetch(client, "http://"+s.Address().String()+"/?size=40")
				proper := err == nil && r.StatusCode == 200 && len(body) == 40
				switch {
				case i%3 < 2 && !proper:
					t.Errorf("request %d: %v", i, err)
				case i%3 == 2 && !check(r, body, err):
					t.Errorf("request %d: %v %q, %v", i, r, body, err)
				case i%3 == 2:
					hit++
				}
			}
			got := s.Counters()
			if got.Rules[0].Applied != 10 || hit != 10 || got.Requests != 30 || got.Accepted != 1 {
				t.Errorf("%d seen; %+v", hit, got)
			}
		})
	}
}

func TestHTTP2CloseAndHang(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"match":{"path":"/close"},"close":{}},{"match":{"path":"/hang"},"hang":{}}]}`)})
	client := h2c(t)
	if _, _, err := fetch(client, "http://"+s.Address().String()+"/close"); err == nil {
		t.Error("an answer")
	}
	eventually(t, "the connection ends", func() bool { return s.Counters().Open == 0 })
	client.Timeout = 200 * time.Millisecond
	if _, _, err := fetch(client, "http://"+s.Address().String()+"/hang"); err == nil || !err.(interface{ Timeout() bool }).Timeout() {
		t.Errorf("%v, want a timeout", err)
	}
	eventually(t, "the request ends", func() bool { return s.Counters().InFlight == 0 })
	if diff := cmp.Diff([]RouteCount{{"", 0, 2}}, s.Counters().Routes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHTTP2ManyAtOnce(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"every":10,"status":{"code":500}},{"delay":{"uniform":{"max":"3ms"}}}]}`)})
	client := h2c(t)
	var mu sync.Mutex
	statuses := map[int]int{}
	var wait sync.WaitGroup
	for w := range 50 {
		wait.Go(func() {
			for range 20 {
				r, _, err := fetch(client, "http://"+s.Address().String(), marker.RouteHeader, fmt.Sprint("r", w%2))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				statuses[r.StatusCode]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if diff := cmp.Diff(map[int]int{200: 900, 500: 100}, statuses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A client has its answer a little before the server is done with it.
	eventually(t, "every answer ends", func() bool { return s.Counters().InFlight == 0 })
	got := s.Counters()
	if got.Requests != 1000 || got.Delays.Count != 1000 || got.MostInFlight < 2 {
		t.Errorf("%+v", got)
	}
}

func TestDrainSaysGoodbyeOnHTTP2(t *testing.T) {
	s, err := Listen(Options{Listen: "127.0.0.1:0", Drain: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	conn, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	framer := http2.NewFramer(conn, conn)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if _, err := framer.ReadFrame(); err != nil { // it is serving
		t.Fatal(err)
	}
	cancel()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("no GOAWAY: %v", err)
		}
		if frame.Header().Type == http2.FrameGoAway {
			break
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
