// Package stream is open-loop traffic that goes on while something is changed,
// and what its answers tell about the change.
package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario"
)

// A Stream is what one kind of user asks for again and again.
type Stream struct {
	// Name says in words what is asked for: "the changed route".
	Name       string
	Host, Path string
	// Port is the listener's; 0 is scenario.ListenerPort.
	Port   int32
	Secure bool
	// Before and after are the answers that are right before and after a change.
	// Where nothing changes for the stream, they are the same.
	Before, After Answer
}

// A Lane is one stream on one replica and kind of connection.
type Lane struct {
	Stream  int
	Replica string
	// Fresh lanes use a new connection for each request.
	Fresh bool
	// Gone says that the replica was replaced meanwhile: the lane says nothing
	// about what users saw.
	Gone bool
}

// String is for people: "ns/envoy-1 (new)".
func (l Lane) String() string {
	if l.Fresh {
		return l.Replica + " (new)"
	}
	return l.Replica + " (kept)"
}

// A Hit is one request of the traffic, and what became of it. Instants are
// times since the traffic began.
type Hit struct {
	Lane int
	// Due is when it should have been sent, sent when it was (negative: never),
	// ended when its answer was complete, or it failed.
	Due, Sent, Ended time.Duration
	// Late is how much later than it could have been we sent it.
	Late        time.Duration
	Status      int // 0 without a complete answer
	Class       load.Class
	Marker      marker.Marker
	Certificate string
}

// Options say how traffic is sent.
type Options struct {
	Rate        int // requests a second, of all streams together
	FreshEvery  int // one in so many on a new connection
	Connections int // to each replica, kept ones
	Timeout     time.Duration
	// Protocol is HTTP/1.1 where empty.
	Protocol load.Protocol
}

// LongestStep is the time between two requests of a lane on new connections,
// which have the lower rate.
func (o Options) LongestStep(lanes []Lane) time.Duration {
	fresh := 0
	for _, l := range lanes {
		if l.Fresh {
			fresh++
		}
	}
	return time.Duration(float64(fresh*o.FreshEvery) / float64(o.Rate) * float64(time.Second))
}

// Begun is when it was sent, or was due if it never was.
func (h *Hit) Begun() time.Duration {
	if h.Sent < 0 {
		return h.Due
	}
	return h.Sent
}

// A Endpoint of the data plane is where traffic goes.
type Endpoint struct {
	Name    string
	Address string // host:port
}

// Traffic is open-loop load in this process: each request is due by the clock,
// whatever became of those before it. One attack keeps its connections, the
// other opens one for each request.
type Traffic struct {
	attacks []*load.Attack
	Lanes   []Lane
	Log     hitLog
	Began   time.Time
}

// trafficLength bounds traffic that is never stopped.
const trafficLength = 12 * time.Hour

// Start sends every stream to every one of its endpoints, in turn.
func Start(ctx context.Context, streams []Stream, endpoints func(port int32) []Endpoint, o Options) (*Traffic, error) {
	t := &Traffic{}
	fresh := float64(o.Rate) / float64(o.FreshEvery)
	for _, part := range []struct {
		rate  float64
		fresh bool
	}{{float64(o.Rate) - fresh, false}, {fresh, true}} {
		if part.rate <= 0 {
			continue
		}
		attack, err := t.prepare(ctx, streams, endpoints, part.rate, part.fresh, o)
		if err != nil {
			_, stopErr := t.Stop(ctx)
			return nil, errors.Join(fmt.Errorf("prepare traffic: %w", err), stopErr)
		}
		t.attacks = append(t.attacks, attack)
	}
	// One start for all, so that their instants mean the same.
	t.Began = time.Now().Add(10 * time.Millisecond)
	for _, a := range t.attacks {
		a.Start(t.Began)
	}
	return t, nil
}

func (t *Traffic) prepare(ctx context.Context, streams []Stream, endpoints func(port int32) []Endpoint, rate float64, fresh bool, o Options) (*load.Attack, error) {
	options := load.Options{
		Protocol: o.Protocol, Threads: 1, Rate: load.Steady(rate, trafficLength), Timeout: o.Timeout,
		TLS: load.TLSOptions{Insecure: true}, RecordBatch: 1,
		Records: &hitRecorder{log: &t.Log, lane: len(t.Lanes), batch: make([]load.Record, 0, 1)},
	}
	if fresh {
		options.Fresh = 1
	}
	places := map[string]bool{}
	for i := range streams {
		s := &streams[i]
		for _, e := range endpoints(s.ListenerPort()) {
			t.Lanes = append(t.Lanes, Lane{Stream: i, Replica: e.Name, Fresh: fresh})
			options.Targets = append(options.Targets, s.target(e.Address))
			place := e.Address
			if s.Secure {
				place += s.Host
			}
			places[place] = true
		}
	}
	if len(options.Targets) == 0 {
		return nil, errors.New("the data plane has no endpoints")
	}
	options.Connections = o.Connections * len(places)
	return load.Prepare(ctx, options)
}

// ListenerPort is the port of the listener that it is sent to.
func (s *Stream) ListenerPort() int32 {
	if s.Port == 0 {
		return scenario.ListenerPort
	}
	return s.Port
}

func (s *Stream) target(address string) load.Target {
	scheme := "http"
	if s.Secure {
		scheme = "https"
	}
	// What is right changes on the way, so that any answer will do here.
	return load.Target{URL: scheme + "://" + s.Host + s.Path, Connect: address, Expect: load.Expect{Body: -1}}
}

// At is an instant since the traffic began.
func (t *Traffic) At(instant time.Time) time.Duration { return instant.Sub(t.Began) }

// Stop ends the traffic and waits for the last answers.
func (t *Traffic) Stop(ctx context.Context) ([]*load.Result, error) {
	var results []*load.Result
	var problems []error
	for _, a := range t.attacks {
		a.Stop()
	}
	for _, a := range t.attacks {
		r, err := a.Wait(ctx)
		if err != nil {
			problems = append(problems, fmt.Errorf("traffic: %w", err))
			continue
		}
		results = append(results, r)
	}
	t.attacks = nil
	return results, errors.Join(problems...)
}

// A hitLog keeps hits in the order in which they ended, in blocks: it grows
// without copying, which would make requests late.
type hitLog struct {
	mu     sync.Mutex
	blocks [][]Hit
	n      int
}

const hitBlock = 4096

func (l *hitLog) add(h Hit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last]) == hitBlock {
		l.blocks = append(l.blocks, make([]Hit, 0, hitBlock))
		last++
	}
	l.blocks[last] = append(l.blocks[last], h)
	l.n++
}

// endSlack is by how much hits may stand out of the order of their ends: two
// threads hand them in.
const endSlack = 50 * time.Millisecond

// Since copies the hits that ended at an instant or later.
func (l *hitLog) Since(at time.Duration) []Hit {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < l.n && l.hit(l.n-1-n).Ended >= at-endSlack {
		n++
	}
	all := make([]Hit, 0, n)
	for i := l.n - n; i < l.n; i++ {
		if h := l.hit(i); h.Ended >= at {
			all = append(all, *h)
		}
	}
	return all
}

func (l *hitLog) hit(i int) *Hit { return &l.blocks[i/hitBlock][i%hitBlock] }

// A hitRecorder turns one attack's records into hits.
type hitRecorder struct {
	log   *hitLog
	lane  int // of the attack's first target
	batch []load.Record
}

var _ load.Recorder = (*hitRecorder)(nil)

// Take implements load.Recorder. There is one thread, so that one batch is
// enough.
func (r *hitRecorder) Take(batch []load.Record) ([]load.Record, bool) {
	for i := range batch {
		b := &batch[i]
		r.log.add(Hit{
			Lane: r.lane + int(b.Target), Due: time.Duration(b.Due), Sent: time.Duration(b.Sent), Ended: time.Duration(b.Ended),
			Late:   time.Duration(b.Late),
			Status: b.HTTPStatus(), Class: b.Class, Marker: b.Marker, Certificate: b.Certificate,
		})
	}
	return batch[:0], true
}
