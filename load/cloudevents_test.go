package load

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
)

// TestCloudEvents: the CloudEvents SDK reads every event, once, with what was
// asked for.
func TestCloudEvents(t *testing.T) {
	for _, mode := range EventModes {
		t.Run(string(mode), func(t *testing.T) {
			var mu sync.Mutex
			ids := map[string]int{}
			// The SDK's own receiver loses requests: it pairs each with a reader
			// that goes away when another request ends.
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				e, err := cloudevents.NewEventFromHTTPRequest(r)
				if err == nil {
					err = e.Validate()
				}
				if err != nil || e.Source() != "/gatemark/test" || e.Type() != "test.event" {
					t.Errorf("%v: event %v", err, e)
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				// JSON's string is decoded to its text.
				if text := strings.Trim(string(e.Data()), `"`); len(text) != 2048 {
					t.Errorf("data of %d bytes", len(text))
				}
				mu.Lock()
				defer mu.Unlock()
				ids[e.ID()]++
			}))
			defer server.Close()
			event := Event{Mode: mode, Source: "/gatemark/test", Type: "test.event", Size: 2048}
			target, err := event.Target(Target{URL: server.URL, Expect: Expect{Body: -1}})
			if err != nil {
				t.Fatal(err)
			}
			r := attackOn(t, Auto, "", func(o *Options) { o.Targets, o.Requests = []Target{target}, 100 })
			if len(r.Errors) > 0 || len(ids) != 100 {
				t.Errorf("errors %v, %d IDs", r.Errors, len(ids))
			}
		})
	}
	if _, err := (&Event{Mode: "loud"}).Target(Target{}); err == nil {
		t.Error("an unknown mode was taken")
	}
}
