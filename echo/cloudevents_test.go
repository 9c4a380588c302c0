package echo

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/echo/events"
)

// TestCloudEventsSDK sends events as the SDK makes them, over both versions of
// HTTP, and reads them back.
func TestCloudEventsSDK(t *testing.T) {
	s, _ := serve(t, Options{})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	protocols := []*http.Client{{Transport: transport}, h2c(t)}
	sequence := 0
	for version, client := range protocols {
		sender, err := cehttp.New(cehttp.WithTarget("http://"+s.Address().String()), cehttp.WithClient(*client))
		if err != nil {
			t.Fatal(err)
		}
		for _, force := range []func(context.Context) context.Context{binding.WithForceBinary, binding.WithForceStructured} {
			for _, size := range []int{0, 2048, 100_000} {
				for range 3 {
					e := cloudevents.NewEvent()
					e.SetID(fmt.Sprintf("%d-%d", version, sequence))
					e.SetSource("/a b/é")
					e.SetType(fmt.Sprintf("type%d", size))
					if err := e.SetData("text/plain", strings.Repeat("x", size)); err != nil {
						t.Fatal(err)
					}
					result := sender.Send(force(t.Context()), binding.ToMessage(&e))
					var got *cehttp.Result
					if !cloudevents.ResultAs(result, &got) || got.StatusCode != 202 {
						t.Fatalf("event %d: %v", sequence, result)
					}
					sequence++
				}
			}
		}
	}
	got := s.Counters().Events
	want := []events.TypeCount{{Type: "type0", Events: 12}, {Type: "type100000", Events: 12}, {Type: "type2048", Events: 12}}
	if diff := cmp.Diff(want, got.Types); diff != "" || got.Binary != 18 || got.Structured != 18 || got.Malformed != 0 {
		t.Errorf("%+v (-want +got):\n%s", got, diff)
	}
	for i, stream := range got.Streams {
		want := events.StreamCount{Prefix: fmt.Sprint(i, "-"), Source: stream.Source, Received: 18, First: uint64(18 * i), Last: uint64(18*i + 17)}
		if diff := cmp.Diff(want, stream); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if len(got.Streams) != 2 {
		t.Errorf("streams %+v: binary and structured events of one source must meet", got.Streams)
	}
}

func TestEventsThatAreNone(t *testing.T) {
	s, _ := serve(t, Options{EventStatus: 200})
	get := "GET / HTTP/1.1\r\n\r\n"
	for sent, want := range map[string]int{
		"POST / HTTP/1.1\r\nce-specversion: 1.0\r\nce-id: 1\r\nce-source: s\r\nce-type: t\r\n\r\n":                    200,
		"POST / HTTP/1.1\r\nce-specversion: 1.0\r\nce-id: 2\r\nce-source: s\r\n\r\n":                                  400,
		"POST / HTTP/1.1\r\ncontent-type: application/cloudevents+json; charset=utf-8\r\ncontent-length: 2\r\n\r\n{}": 400,
		"POST / HTTP/1.1\r\ncontent-type: application/cloudevents+json\r\ntransfer-encoding: chunked\r\n\r\n" +
			"4\r\n{\"id\r\n3b\r\n\":\"2\",\"source\":\"s\",\"type\":\"t\",\"specversion\":\"1.0\",\"data\":1}\r\n0\r\n\r\n": 200,
	} {
		all := exchange(t, s, sent+get, 2)
		if all[0].StatusCode != want || all[1].StatusCode != 200 {
			t.Errorf("%q: status %d, want %d; then %d", sent, all[0].StatusCode, want, all[1].StatusCode)
		}
	}
	got := s.Counters().Events
	if got.Received != 2 || got.Malformed != 2 || got.Streams[0].Missing != 0 {
		t.Errorf("%+v", got)
	}
}

func TestEventsThatAreNotAcceptedAreNotReceived(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"every":2,"status":{"code":503}}]}`)})
	for i := range 10 {
		event := fmt.Sprintf("POST / HTTP/1.1\r\nce-specversion: 1.0\r\nce-id: %d\r\nce-source: s\r\nce-type: t\r\n\r\n", i)
		exchange(t, s, event, 1)
	}
	got := s.Counters().Events
	if got.Received != 5 || got.Streams[0].Missing != 4 || len(got.Streams[0].Gaps) != 4 {
		t.Errorf("%+v", got)
	}
}
