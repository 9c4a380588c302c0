package load

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/marker"
)

func TestClosedLoop(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, ok)
		r := attackOn(t, engine, s.url(), func(o *Options) { o.Requests = 1000 })
		if r.Requests != 1000 || len(r.Errors) > 0 || r.StatusCodes[200] != 1000 || s.requests.Load() != 1000 {
			t.Errorf("%d requests, errors %v, statuses %v; the server saw %d", r.Requests, r.Errors, r.StatusCodes, s.requests.Load())
		}
		if r.Opened != 4 || s.accepted.Load() != 4 {
			t.Errorf("opened %d connections, accepted %d", r.Opened, s.accepted.Load())
		}
		if want := int64(1000 * len("HTTP/1.1 200 x\r\nContent-Length: 4\r\n\r\nfine")); r.BytesIn != want {
			t.Errorf("%d bytes in, want %d", r.BytesIn, want)
		}
		if r.CPUSeconds <= 0 || r.AchievedRate <= 0 || r.Engine != engine {
			t.Errorf("CPU %v, rate %v, engine %v", r.CPUSeconds, r.AchievedRate, r.Engine)
		}
	})
}

func TestClosedLoopForATime(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, ok)
		r := attackOn(t, engine, s.url(), func(o *Options) { o.Duration = 100 * time.Millisecond })
		if r.Requests == 0 || r.Requests != s.requests.Load() || len(r.Errors) > 0 {
			t.Errorf("%d requests, errors %v; the server saw %d", r.Requests, r.Errors, s.requests.Load())
		}
	})
}

// TestOpenLoop: every request of the schedule is sent exactly once.
func TestOpenLoop(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		for _, arrival := range []Arrival{Even, Uniform, Poisson} {
			s := serve(t, nil, ok)
			r := attackOn(t, engine, s.url()+"?n="+Number, func(o *Options) {
				o.Rate, o.Arrival, o.Seed = Steady(4000, 250*time.Millisecond), arrival, 3
			})
			want := int64(1000)
			if arrival == Poisson {
				want = r.Requests
				if want < 850 || want > 1150 {
					t.Errorf("%d Poisson arrivals, 1000 expected", want)
				}
			}
			if r.Requests != want || len(r.Errors) > 0 || s.requests.Load() != want || len(s.paths) != int(want) {
				t.Errorf("%v: %d requests, errors %v; the server saw %d, of %d numbers", arrival, r.Requests, r.Errors, s.requests.Load(), len(s.paths))
			}
			if want := float64(want) / 0.25; r.RequestedRate != want {
				t.Errorf("requested %v, want %v", r.RequestedRate, want)
			}
		}
	})
}

// TestFailures: each is counted once, as what it was.
func TestFailures(t *testing.T) {
	failures := []struct {
		name string
		do   func(w *scripted)
		want Class
	}{
		{"status", func(w *scripted) { w.answer(503, "no") }, Status5xx},
		{"redirect", func(w *scripted) { w.answer(302, "") }, Status3xx},
		{"closed before the answer", func(w *scripted) { w.close() }, EOF},
		{"closed within the answer", func(w *scripted) { w.write("HTTP/1.1 200 x\r\nContent-Length: 4\r\n\r\nfi"); w.close() }, EOF},
		{"reset before the answer", func(w *scripted) { w.reset() }, Reset},
		{"garbage", func(w *scripted) { w.write("SMTP 220 hello\r\n\r\n"); w.close() }, Malformed},
		{"an answer too many", func(w *scripted) {
			w.write(strings.Repeat("HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n", 2))
			w.close()
		}, Malformed},
		{"no answer", func(w *scripted) {}, Timeout},
	}
	engines(t, func(t *testing.T, engine Engine) {
		for _, f := range failures {
			t.Run(f.name, func(t *testing.T) {
				const every = 50
				s := serve(t, nil, func(n int, w *scripted) {
					if n%every == every-1 {
						f.do(w)
					} else {
						w.answer(200, "fine")
					}
				})
				r := attackOn(t, engine, s.url(), func(o *Options) {
					o.Rate, o.Connections = Steady(2000, 150*time.Millisecond), 50
					if f.want == Timeout {
						o.Timeout = 500 * time.Millisecond
					}
				})
				if diff := cmp.Diff(map[Class]int64{f.want: 6}, r.Errors); diff != "" || r.Requests != 300 {
					t.Errorf("%d requests, errors (-want +got)\n%s", r.Requests, diff)
				}
			})
		}
	})
}

func TestRefused(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = listener.Close()
		r := attackOn(t, engine, "http://"+listener.Addr().String()+"/", func(o *Options) { o.Rate = Steady(1000, 100*time.Millisecond) })
		if diff := cmp.Diff(map[Class]int64{Refused: 100}, r.Errors); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		// A closed loop must not spin on it.
		r = attackOn(t, engine, "http://"+listener.Addr().String()+"/", func(o *Options) { o.Duration = 100 * time.Millisecond })
		if r.Requests == 0 || r.Requests > 4*11 || r.Errors[Refused] != r.Requests {
			t.Errorf("%d requests, errors %v", r.Requests, r.Errors)
		}
	})
}

// TestStall: requests that were due while the server stood still show all of
// their wait, although no connection was free to send them.
func TestStall(t *testing.T) {
	const stall = 300 * time.Millisecond
	engines(t, func(t *testing.T, engine Engine) {
		begun := make(chan time.Time, 1)
		s := serve(t, nil, func(n int, w *scripted) {
			if n == 100 {
				begun <- time.Now()
			}
			if n >= 100 && n < 102 {
				time.Sleep(stall)
			}
			w.answer(200, "fine")
		})
		r := attackOn(t, engine, s.url(), func(o *Options) { o.Rate, o.Connections = Steady(1000, 600*time.Millisecond), 2 })
		if r.Requests != 600 || len(r.Errors) > 0 {
			t.Fatalf("%d requests, errors %v", r.Requests, r.Errors)
		}
		if r.Latency.Max < stall.Seconds() {
			t.Errorf("the longest latency is %v, the server stood for %v", r.Latency.Max, stall)
		}
		// 300 requests fell into the stall, at equal distances: half of them
		// waited for at least half of it.
		waited := int64(0)
		for _, slice := range r.Slices {
			for _, bar := range slice.Classes[OK].Latency.unpacked().Distribution() {
				if bar.From >= int64(stall/2) {
					waited += bar.Count
				}
			}
		}
		if waited < 140 {
			t.Errorf("%d requests waited for at least %v, want 150", waited, stall/2)
		}
		if r.ServiceTime.P90 > stall.Seconds()/2 || r.Queued < 250 {
			t.Errorf("service time p90 %v; %d queued", r.ServiceTime.P90, r.Queued)
		}
	})
}

// TestOverload: what is not sent in time is counted, not forgotten.
func TestOverload(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, func(_ int, w *scripted) {
			time.Sleep(10 * time.Millisecond)
			w.answer(200, "fine")
		})
		r := attackOn(t, engine, s.url(), func(o *Options) {
			o.Rate, o.Timeout = Steady(2000, 300*time.Millisecond), 50*time.Millisecond
		})
		if r.Requests != 600 || r.Unsent < 300 || r.Unsent != r.Errors[Unsent] {
			t.Errorf("%d requests, %d unsent, errors %v", r.Requests, r.Unsent, r.Errors)
		}
		if r.Verdict != BackendLimited && r.Verdict != AttackerLimited || r.AchievedRate > 0.5*r.RequestedRate {
			t.Errorf("verdict %v; requested %v, achieved %v", r.Verdict, r.RequestedRate, r.AchievedRate)
		}
	})
}

// TestFraming: every way in which an answer can be framed.
func TestFraming(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 64<<10)
	answers := []struct {
		name, text string
		size       int64
		closes     bool
	}{
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6; x\r\n world\r\n0\r\nTrailer: x\r\n\r\n", 11, false},
		{"after a 100 and a 103", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 2, false},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nall of it", 9, true},
		{"connection: close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 2, true},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 2, true},
		{"no body", "HTTP/1.1 204 No\r\n\r\n", 0, false},
		{"a megabyte", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(big), big), int64(len(big)), false},
	}
	engines(t, func(t *testing.T, engine Engine) {
		for _, a := range answers {
			t.Run(a.name, func(t *testing.T) {
				s := serve(t, nil, func(_ int, w *scripted) {
					w.write(a.text)
					if a.closes {
						w.close()
					}
				})
				r := attackOn(t, engine, s.url(), func(o *Options) { o.Requests, o.Targets[0].Expect.Body = 20, a.size })
				if r.Requests != 20 || len(r.Errors) > 0 {
					t.Errorf("%d requests, errors %v", r.Requests, r.Errors)
				}
				if opened := s.accepted.Load(); a.closes && opened < 20 || !a.closes && opened != 4 {
					t.Errorf("%d connections", opened)
				}
			})
		}
	})
}

// TestAnswersInPieces: one byte at a time changes nothing.
func TestAnswersInPieces(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, func(_ int, w *scripted) {
			for _, b := range []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n") {
				_, _ = w.conn.Write([]byte{b})
				time.Sleep(100 * time.Microsecond)
			}
		})
		r := attackOn(t, engine, s.url(), func(o *Options) { o.Requests, o.Targets[0].Expect.Body = 8, 5 })
		if r.Requests != 8 || len(r.Errors) > 0 {
			t.Errorf("%d requests, errors %v", r.Requests, r.Errors)
		}
	})
}

func TestMarkerAndSize(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, func(n int, w *scripted) {
			route := "a"
			if n%10 == 0 {
				route = "b"
			}
			w.write("HTTP/1.1 200 OK\r\nGatemark-Route: " + route + "\r\nGatemark-Generation: 2\r\nContent-Length: 0\r\n\r\n")
		})
		r := attackOn(t, engine, s.url(), func(o *Options) { o.Requests, o.Targets[0].Expect.Marker = 100, marker.Expect("a", 2) })
		if diff := cmp.Diff(map[Class]int64{WrongMarker: 10}, r.Errors); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// TestRequests: what the server gets is what was asked for.
func TestRequests(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		body := strings.Repeat("x", 1<<20)
		s := serve(t, nil, func(_ int, w *scripted) {
			r := w.request
			if r.Method != "PUT" || w.body != int64(len(body)) || r.Header.Get("X-One") != "1" || len(r.Header.Get("X-Number")) != numberDigits {
				w.answer(400, "")
				return
			}
			w.answer(200, "")
		})
		r := attackOn(t, engine, s.url()+"p-{0..3}", func(o *Options) {
			o.Requests = 80
			target := &o.Targets[0]
			target.Method, target.Body, target.Host = "PUT", []byte(body), "{a,b}.example"
			target.Header = []Field{{"X-One", "1"}, {"X-Number", Number}}
		})
		if len(r.Errors) > 0 {
			t.Errorf("errors %v", r.Errors)
		}
		if diff := cmp.Diff(map[string]int{"/p-0": 20, "/p-1": 20, "/p-2": 20, "/p-3": 20}, s.paths); diff != "" {
			t.Errorf("paths (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"a.example": 40, "b.example": 40}, s.hosts); diff != "" {
			t.Errorf("hosts (-want +got)\n%s", diff)
		}
	})
}

func TestHead(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, func(_ int, w *scripted) { w.write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n") })
		r := attackOn(t, engine, s.url(), func(o *Options) { o.Requests, o.Targets[0].Method = 50, "HEAD" })
		if len(r.Errors) > 0 || s.accepted.Load() != 4 {
			t.Errorf("errors %v, %d connections", r.Errors, s.accepted.Load())
		}
	})
}

// TestFresh: connections are new for as many requests as was asked for.
func TestFresh(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, ok)
		r := attackOn(t, engine, s.url(), func(o *Options) { o.Rate, o.Fresh = Steady(2000, 200*time.Millisecond), 1 })
		if len(r.Errors) > 0 || r.Requests != 400 || s.accepted.Load() < 400 || s.accepted.Load() > 404 {
			t.Errorf("%d requests, errors %v, %d connections", r.Requests, r.Errors, s.accepted.Load())
		}
		s = serve(t, nil, ok)
		r = attackOn(t, engine, s.url(), func(o *Options) { o.Rate, o.Fresh = Steady(4000, 250*time.Millisecond), 0.1 })
		if n := s.accepted.Load(); len(r.Errors) > 0 || n < 70 || n > 140 {
			t.Errorf("errors %v, %d connections for 1000 requests of which a tenth has a new one", r.Errors, n)
		}
	})
}

// TestSources: connections come from every address given.
func TestSources(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		var mu sync.Mutex
		from := map[string]int{}
		s := serve(t, nil, func(_ int, w *scripted) {
			host, _, _ := net.SplitHostPort(w.conn.RemoteAddr().String())
			mu.Lock()
			from[host]++
			mu.Unlock()
			w.answer(200, "")
		})
		attackOn(t, engine, s.url(), func(o *Options) {
			o.Requests, o.Sources = 100, parseAddrs(t, "127.0.0.2", "127.0.0.3")
		})
		mu.Lock()
		defer mu.Unlock()
		if len(from) != 2 || from["127.0.0.2"] == 0 || from["127.0.0.3"] == 0 {
			t.Errorf("requests came from %v", from)
		}
	})
}

func TestStop(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, ok)
		a, err := Prepare(t.Context(), Options{
			Targets: []Target{{URL: s.url(), Expect: Expect{Body: -1}}}, Engine: engine, Connections: 4, Rate: Steady(1000, time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		a.Start(time.Now())
		for s.requests.Load() < 50 {
			time.Sleep(time.Millisecond)
		}
		a.Stop()
		r, err := a.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Requests != s.requests.Load() || len(r.Errors) > 0 {
			t.Errorf("%d requests, errors %v; the server saw %d", r.Requests, r.Errors, s.requests.Load())
		}
	})
}

// recorder keeps records.
type recorder struct{ all chan []Record }

func (r *recorder) Take(batch []Record) ([]Record, bool) {
	r.all <- batch
	return make([]Record, 0, cap(batch)), true
}

func TestRecords(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, func(n int, w *scripted) {
			if n == 7 {
				w.reset()
				return
			}
			w.write("HTTP/1.1 200 OK\r\nGatemark-Delay-Applied: 1234\r\nGatemark-Route: a\r\nGatemark-Generation: 3\r\nGatemark-Pod: p\r\nContent-Length: 3\r\n\r\nabc")
		})
		to := &recorder{make(chan []Record, 1000)}
		attackOn(t, engine, s.url(), func(o *Options) {
			o.Rate, o.Records, o.RecordBatch = Steady(1000, 100*time.Millisecond), to, 1
		})
		want := marker.Marker{Route: "a", Generation: 3, Pod: "p"}
		close(to.all)
		numbers := map[uint64]bool{}
		classes := map[Class]int{}
		for batch := range to.all {
			if len(batch) > 1 {
				t.Errorf("a batch of %d records", len(batch))
			}
			for _, r := range batch {
				numbers[r.Number] = true
				classes[r.Class]++
				if r.Due != int64(r.Number)*int64(time.Millisecond) || r.Sent < r.Due || r.Ended < r.Sent || r.Late < 0 || r.Late > r.Sent-r.Due {
					t.Errorf("request %d was due at %d, sent at %d, ended at %d", r.Number, r.Due, r.Sent, r.Ended)
				}
				if r.Class == OK && (r.Status != 200 || r.Bytes != 3 || r.Delay != 1234 || r.Marker != want || r.Certificate != "") {
					t.Errorf("record %+v", r)
				}
			}
		}
		if diff := cmp.Diff(map[Class]int{OK: 99, Reset: 1}, classes); diff != "" || len(numbers) != 100 {
			t.Errorf("%d numbers, classes (-want +got)\n%s", len(numbers), diff)
		}
	})
}

// TestEndpoints: each target has connections of its own.
func TestEndpoints(t *testing.T) {
	a, b := serve(t, nil, ok), serve(t, nil, ok)
	r := attackOn(t, Auto, a.url(), func(o *Options) {
		o.Rate, o.Connections, o.Threads = Steady(1000, 200*time.Millisecond), 8, 2
		o.Targets = append(o.Targets, Target{URL: b.url(), Weight: 3, Expect: Expect{Body: -1}})
	})
	if a.requests.Load() != 50 || b.requests.Load() != 150 || len(r.Errors) > 0 {
		t.Errorf("%d and %d requests, errors %v", a.requests.Load(), b.requests.Load(), r.Errors)
	}
	if a.accepted.Load() < 2 || b.accepted.Load() < a.accepted.Load() || a.accepted.Load()+b.accepted.Load() != 8 {
		t.Errorf("%d and %d connections", a.accepted.Load(), b.accepted.Load())
	}
}

func TestOptionsNameEveryProblem(t *testing.T) {
	o := Options{
		Protocol: "smtp", Engine: "magic", Arrival: "never", Connections: -1, Streams: 3, Fresh: 2, Timeout: -1,
		Rate: Profile{{-1, 5, 0}}, Part: 2,
	}
	err := o.Validate()
	for _, want := range []string{"no target", "smtp", "magic", "never", "connections", "fresh", "timeout", "rate: stage 1: -1", "lasts 0s", "part: 2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
	if _, err := Run(t.Context(), Options{Targets: []Target{{URL: "ftp://x"}}, Requests: 1}); err == nil || !strings.Contains(err.Error(), "ftp://x") {
		t.Errorf("got %v", err)
	}
	if _, err := Run(t.Context(), Options{Targets: []Target{{URL: "http://{a,b}/"}}, Requests: 1, Connections: 1}); err == nil || !strings.Contains(err.Error(), "too few") {
		t.Errorf("got %v", err)
	}
}

// TestConnectionsThatEndBehindTheirAnswer: the next request has been given to
// the connection, and is not sent yet, when its end is seen.
func TestConnectionsThatEndBehindTheirAnswer(t *testing.T) {
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, nil, func(n int, w *scripted) {
			time.Sleep(2 * time.Millisecond) // requests wait for the connection meanwhile
			w.answer(200, "fine")
			if n%2 == 1 {
				w.close()
			}
		})
		r := attackOn(t, engine, s.url(), func(o *Options) {
			o.Connections, o.Threads, o.Rate = 1, 1, Steady(2000, 200*time.Millisecond)
		})
		if r.Requests != 400 {
			t.Errorf("%d requests, errors %v", r.Requests, r.Errors)
		}
	})
}
