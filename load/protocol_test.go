package load

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coder/websocket"
)

// TestHTTP2OverTLSTimesOutAlone: a stream that is late is given up by itself;
// the others on its connection go on.
func TestHTTP2OverTLSTimesOutAlone(t *testing.T) {
	for _, secure := range []bool{false, true} {
		engines(t, func(t *testing.T, engine Engine) {
			var n atomic.Int64
			release := make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1)%50 == 0 {
					select {
					case <-release:
					case <-r.Context().Done():
					}
				}
			}))
			server.EnableHTTP2 = secure
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetHTTP2(true)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			if secure {
				server.TLS = &tls.Config{NextProtos: []string{"h2"}}
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			defer close(release)
			r := attackOn(t, engine, server.URL, func(o *Options) {
				o.Protocol, o.Connections, o.Threads, o.Streams = HTTP2, 2, 1, 20
				o.Rate, o.Timeout, o.TLS.Insecure = Steady(1000, 200*time.Millisecond), time.Second, true
			})
			if diff := cmp.Diff(map[Class]int64{Timeout: 4}, r.Errors); diff != "" || r.Requests != 200 || r.Opened != 2 {
				t.Errorf("TLS %v: %d requests, %d connections, errors (-want +got)\n%s", secure, r.Requests, r.Opened, diff)
			}
		})
	}
}

// TestWebSocketPaths: messages go to the path that their URL names.
func TestWebSocketPaths(t *testing.T) {
	var mu sync.Mutex
	messages := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		for {
			kind, message, err := c.Read(context.Background())
			if err != nil {
				return
			}
			mu.Lock()
			messages[r.URL.Path]++
			mu.Unlock()
			if c.Write(context.Background(), kind, message) != nil {
				return
			}
		}
	}))
	defer server.Close()
	r := attackOn(t, Auto, strings.Replace(server.URL, "http:", "ws:", 1)+"/{a,b}", func(o *Options) {
		o.Protocol, o.Rate, o.Targets[0].Body, o.Targets[0].Expect.Body = WebSocket, Steady(1000, 100*time.Millisecond), []byte("hello"), 5
	})
	if diff := cmp.Diff(map[string]int{"/a": 50, "/b": 50}, messages); diff != "" || len(r.Errors) > 0 {
		t.Errorf("errors %v, messages (-want +got)\n%s", r.Errors, diff)
	}
}
