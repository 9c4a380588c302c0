package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
)

// A stream is what one kind of user asks for again and again.
type stream struct {
	// name says in words what is asked for: "the changed route".
	name       string
	host, path string
	// port is the listener's; 0 is listenerPort.
	port   int32
	secure bool
	// before and after are the answers that are right before and after a change.
	// Where nothing changes for the stream, they are the same.
	before, after rightAnswer
}

// A lane is one stream on one replica and kind of connection.
type lane struct {
	stream  int
	replica string
	// fresh lanes use a new connection for each request.
	fresh bool
	// gone says that the replica was replaced meanwhile: the lane says nothing
	// about what users saw.
	gone bool
}

// String is for people: "ns/envoy-1 (new)".
func (l lane) String() string {
	if l.fresh {
		return l.replica + " (new)"
	}
	return l.replica + " (kept)"
}

// A hit is one request of the traffic, and what became of it. Instants are
// times since the traffic began.
type hit struct {
	lane int
	// due is when it should have been sent, sent when it was (negative: never),
	// ended when its answer was complete, or it failed.
	due, sent, ended time.Duration
	status           int // 0 without a complete answer
	class            load.Class
	marker           marker.Marker
	certificate      string
}

// trafficOptions say how traffic is sent.
type trafficOptions struct {
	rate        int // requests a second, of all streams together
	freshEvery  int // one in so many on a new connection
	connections int // to each replica, kept ones
	timeout     time.Duration
}

// longestStep is the time between two requests of a lane on new connections,
// which have the lower rate.
func (o trafficOptions) longestStep(lanes []lane) time.Duration {
	fresh := 0
	for _, l := range lanes {
		if l.fresh {
			fresh++
		}
	}
	return time.Duration(float64(fresh*o.freshEvery) / float64(o.rate) * float64(time.Second))
}

// begun is when it was sent, or was due if it never was.
func (h *hit) begun() time.Duration {
	if h.sent < 0 {
		return h.due
	}
	return h.sent
}

// A trafficEndpoint of the data plane is where traffic goes.
type trafficEndpoint struct {
	name    string
	address string // host:port
}

// traffic is open-loop load in this process: each request is due by the clock,
// whatever became of those before it. One attack keeps its connections, the
// other opens one for each request.
type traffic struct {
	attacks []*load.Attack
	lanes   []lane
	log     hitLog
	began   time.Time
}

// trafficLength bounds traffic that is never stopped.
const trafficLength = 12 * time.Hour

// startTraffic sends every stream to every one of its endpoints, in turn.
func startTraffic(ctx context.Context, streams []stream, endpoints func(port int32) []trafficEndpoint, o trafficOptions) (*traffic, error) {
	t := &traffic{}
	fresh := float64(o.rate) / float64(o.freshEvery)
	for _, part := range []struct {
		rate  float64
		fresh bool
	}{{float64(o.rate) - fresh, false}, {fresh, true}} {
		if part.rate <= 0 {
			continue
		}
		attack, err := t.prepare(ctx, streams, endpoints, part.rate, part.fresh, o)
		if err != nil {
			_, stopErr := t.stop(ctx)
			return nil, errors.Join(fmt.Errorf("prepare traffic: %w", err), stopErr)
		}
		t.attacks = append(t.attacks, attack)
	}
	// One start for all, so that their instants mean the same.
	t.began = time.Now().Add(10 * time.Millisecond)
	for _, a := range t.attacks {
		a.Start(t.began)
	}
	return t, nil
}

func (t *traffic) prepare(ctx context.Context, streams []stream, endpoints func(port int32) []trafficEndpoint, rate float64, fresh bool, o trafficOptions) (*load.Attack, error) {
	options := load.Options{
		Threads: 1, Rate: load.Steady(rate, trafficLength), Timeout: o.timeout,
		TLS: load.TLSOptions{Insecure: true}, RecordBatch: 1,
		Records: &hitRecorder{log: &t.log, lane: len(t.lanes), batch: make([]load.Record, 0, 1)},
	}
	if fresh {
		options.Fresh = 1
	}
	places := map[string]bool{}
	for i := range streams {
		s := &streams[i]
		for _, e := range endpoints(s.portOr()) {
			t.lanes = append(t.lanes, lane{stream: i, replica: e.name, fresh: fresh})
			options.Targets = append(options.Targets, s.target(e.address))
			place := e.address
			if s.secure {
				place += s.host
			}
			places[place] = true
		}
	}
	if len(options.Targets) == 0 {
		return nil, errors.New("the data plane has no endpoints")
	}
	options.Connections = o.connections * len(places)
	return load.Prepare(ctx, options)
}

func (s *stream) portOr() int32 {
	if s.port == 0 {
		return listenerPort
	}
	return s.port
}

func (s *stream) target(address string) load.Target {
	scheme := "http"
	if s.secure {
		scheme = "https"
	}
	// What is right changes on the way, so that any answer will do here.
	return load.Target{URL: scheme + "://" + s.host + s.path, Connect: address, Expect: load.Expect{Body: -1}}
}

// at is an instant since the traffic began.
func (t *traffic) at(instant time.Time) time.Duration { return instant.Sub(t.began) }

// stop ends the traffic and waits for the last answers.
func (t *traffic) stop(ctx context.Context) ([]*load.Result, error) {
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
	blocks [][]hit
	n      int
}

const hitBlock = 4096

func (l *hitLog) add(h hit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last]) == hitBlock {
		l.blocks = append(l.blocks, make([]hit, 0, hitBlock))
		last++
	}
	l.blocks[last] = append(l.blocks[last], h)
	l.n++
}

// endSlack is by how much hits may stand out of the order of their ends: two
// threads hand them in.
const endSlack = 50 * time.Millisecond

// since copies the hits that ended at an instant or later.
func (l *hitLog) since(at time.Duration) []hit {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < l.n && l.hit(l.n-1-n).ended >= at-endSlack {
		n++
	}
	all := make([]hit, 0, n)
	for i := l.n - n; i < l.n; i++ {
		if h := l.hit(i); h.ended >= at {
			all = append(all, *h)
		}
	}
	return all
}

func (l *hitLog) hit(i int) *hit { return &l.blocks[i/hitBlock][i%hitBlock] }

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
		r.log.add(hit{
			lane: r.lane + int(b.Target), due: time.Duration(b.Due), sent: time.Duration(b.Sent), ended: time.Duration(b.Ended),
			status: int(b.Status), class: b.Class, marker: b.Marker, certificate: b.Certificate,
		})
	}
	return batch[:0], true
}
