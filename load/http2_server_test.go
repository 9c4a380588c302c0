package load

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/gatemark/gatemark/marker"
)

// serveHTTP2 answers each request by its path, and notes what it was.
type serveHTTP2 struct {
	mutex sync.Mutex
	seen  []string
}

func (s *serveHTTP2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	s.mutex.Lock()
	s.seen = append(s.seen, fmt.Sprintf("%s %s %s %s %d %d", r.Method, r.Host, r.RequestURI, r.Header.Get("X-Number"), r.ContentLength, len(body)))
	s.mutex.Unlock()
	h := w.Header()
	h.Set("Gatemark-Route", "route")
	h.Set("Gatemark-Generation", "12")
	switch r.URL.Path {
	case "/hints":
		h.Set("Link", "</x>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	case "/large":
		_, _ = w.Write(make([]byte, 1<<20))
	case "/announced":
		h.Set("Content-Length", "10")
		h.Set(marker.AppliedHeader, strconv.Itoa(len(body)))
		_, _ = w.Write([]byte("0123456789"))
	case "/trailer":
		h.Set("Trailer", "Sum")
		_, _ = w.Write([]byte("abc"))
		h.Set("Sum", "x")
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/head":
		h.Set("Filler", strings.Repeat("xy", 20_000)) // several frames
	case "/broken":
		_, _ = w.Write([]byte("abc"))
		panic(http.ErrAbortHandler)
	default:
		http.NotFound(w, r)
	}
}

func TestHTTP2AgainstServer(t *testing.T) {
	for _, streams := range []int{1, 3, 100} {
		t.Run(fmt.Sprint(streams), func(t *testing.T) {
			handler := &serveHTTP2{}
			l := listen(t)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				(&http2.Server{MaxConcurrentStreams: 20}).ServeConn(conn, &http2.ServeConnOpts{Handler: handler})
			}()
			mark := marker.Marker{Route: "route", Generation: 12}
			var requests []*Request
			var want []outcome
			var seen []string
			for range 30 {
				for _, c := range []struct {
					method, path string
					size         int
					want         outcome
				}{
					{"GET", "/hints", 0, outcome{0, OK, 200, -1, 0, -1, mark}},
					{"GET", "/large", 0, outcome{0, OK, 200, -1, 1 << 20, -1, mark}},
					{"GET", "/announced", 0, outcome{0, OK, 200, -1, 10, 0, mark}},
					{"HEAD", "/announced", 0, outcome{0, OK, 200, -1, 0, 0, mark}},
					{"POST", "/announced", 100, outcome{0, OK, 200, -1, 10, 100, mark}},
					{"PUT", "/announced", 200_000, outcome{0, OK, 200, -1, 10, 200_000, mark}},
					{"POST", "/trailer", 0, outcome{0, OK, 200, -1, 3, -1, mark}},
					{"DELETE", "/none", 0, outcome{0, OK, 204, -1, 0, -1, mark}},
					{"GET", "/head", 0, outcome{0, OK, 200, -1, 0, -1, mark}},
					{"GET", "/broken", 0, outcome{Class: Reset}},
					{"OPTIONS", "/else", 0, outcome{0, Status4xx, 404, -1, 19, -1, mark}},
				} {
					r := post(c.path+"?n="+string(numberMark), strings.Repeat("x", c.size))
					r.method, r.head = c.method, c.method == "HEAD"
					r.header = []headerField{{name: "x-number", value: string(numberMark), numbered: true}}
					requests = append(requests, r)
					c.want.Number = uint64(len(requests))
					want = append(want, c.want)
					number := fmt.Sprintf("%020d", c.want.Number)
					seen = append(seen, fmt.Sprintf("%s example.test %s?n=%s %s %d %d", c.method, c.path, number, number, c.size, c.size))
				}
			}
			w := newWitness(t)
			converse(t, l.Addr(), newHTTP2(w, streams), w, requests)
			slices.SortFunc(w.ended, byNumber)
			w.want(t, want...)
			slices.Sort(seen)
			slices.Sort(handler.seen)
			if diff := cmp.Diff(seen, handler.seen); diff != "" {
				t.Errorf("requests that the server saw (-want +got):\n%s", diff)
			}
		})
	}
}
