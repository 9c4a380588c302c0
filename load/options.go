package load

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"time"
)

// A Protocol is what is spoken over the connections.
type Protocol string

// The protocols. Over TLS (the target's scheme is https or wss) they are
// negotiated by ALPN.
const (
	HTTP1     Protocol = "http1"
	HTTP2     Protocol = "h2"
	GRPC      Protocol = "grpc"
	WebSocket Protocol = "websocket"
)

// Protocols lists them all.
var Protocols = []Protocol{HTTP1, HTTP2, GRPC, WebSocket}

// An Engine is how the event loops speak to the kernel.
type Engine string

// The engines.
const (
	// Auto is IOUring where the kernel allows it, Epoll otherwise.
	Auto    Engine = "auto"
	IOUring Engine = "io_uring"
	Epoll   Engine = "epoll"
)

// Engines lists them all.
var Engines = []Engine{Auto, IOUring, Epoll}

// Options say what an attack does. Their JSON goes to attackers in pods.
type Options struct {
	// Targets take turns by their weights.
	Targets  []Target `json:"targets"`
	Protocol Protocol `json:"protocol"`
	// Connections is how many are open at a time. Default 1 for each endpoint.
	Connections int `json:"connections"`
	// Streams is how many requests a connection carries at a time. Default 1.
	// HTTP/1.1 carries one.
	Streams int `json:"streams"`
	// Threads is the number of event loops, each with its own connections.
	// Default is a thread for each CPU, at most one for each connection.
	Threads int `json:"threads"`
	// Rate makes it an open loop: requests are due by the clock. Without it, it
	// is a closed loop: each connection sends as soon as it has its answer.
	Rate    Profile `json:"rate,omitempty"`
	Arrival Arrival `json:"arrival"`
	// Seed makes random arrivals repeatable.
	Seed uint64 `json:"seed"`
	// Part and Parts make this attacker one of several that share the schedule;
	// Connections are this one's. Parts 0 is 1.
	Part  int `json:"part"`
	Parts int `json:"parts"`
	// Duration bounds a closed loop; an open loop lasts as long as its rate.
	Duration time.Duration `json:"duration"`
	// Warmup is how long at the beginning requests are sent and not counted in
	// the result's totals. They make a window of their own, "warm-up".
	Warmup time.Duration `json:"warmup"`
	// Requests ends the attack after so many, if it is not 0.
	Requests uint64 `json:"requests"`
	// Timeout is how long a request may take from when it was sent, and how
	// long it may wait to be sent. Default 10 s.
	Timeout time.Duration `json:"timeout"`
	// Fresh is the share of requests, from 0 to 1, that each get a new
	// connection, which is reset after them.
	Fresh float64    `json:"fresh"`
	TLS   TLSOptions `json:"tls"`
	// Sources are local addresses that connections come from, in turn. More
	// addresses have more ports.
	Sources []netip.Addr `json:"sources,omitempty"`
	Engine  Engine       `json:"engine"`
	// ReceiveTime says which instant counts as that of an answer. Default
	// AutoTime.
	ReceiveTime ReceiveTime `json:"receiveTime"`
	// Spin is how long before a request is due the loop stops sleeping and looks
	// at the clock instead. A sleeping processor takes some time to wake up, tens
	// of microseconds on a virtual machine: spinning sends on time and pays for
	// it with processor time. Default 0.
	Spin time.Duration `json:"spin,omitempty"`
	// Lookup resolves host names. Default is the system's resolver.
	Lookup Lookup `json:"-"`
	// Records takes a record of each request, if it is not nil.
	Records Recorder `json:"-"`
	// RecordBatch is how many records the first batch has; the next are as
	// large as what the recorder returns. Default 4096. With 1 a record comes as
	// soon as its request has ended.
	RecordBatch int `json:"-"`
	// Slice is called with each slice of the result when it is complete, from
	// one goroutine, in the order of their starts for each thread.
	Slice func(*Slice) `json:"-"`
	// Whole has the result keep one slice for each window in place of one for
	// each second, so that an attack's memory does not grow with its length.
	Whole bool `json:"whole,omitempty"`
}

func (o *Options) setDefaults() {
	o.Protocol = orDefault(o.Protocol, HTTP1)
	o.Engine = orDefault(o.Engine, Auto)
	o.Arrival = orDefault(o.Arrival, Even)
	o.Timeout = orDefault(o.Timeout, 10*time.Second)
	o.Streams = orDefault(o.Streams, 1)
	o.Parts = orDefault(o.Parts, 1)
	o.RecordBatch = orDefault(o.RecordBatch, recordBatch)
	if o.ReceiveTime = orDefault(o.ReceiveTime, AutoTime); o.ReceiveTime == AutoTime {
		o.ReceiveTime = LoopTime
		if o.Rate != nil {
			o.ReceiveTime = KernelTime
		}
	}
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// setCounts fills in what follows from the number of endpoints.
func (o *Options) setCounts(endpoints int) {
	o.Connections = orDefault(o.Connections, endpoints)
	if o.Threads == 0 {
		// GOMAXPROCS follows the cgroup's quota.
		o.Threads = min(runtime.GOMAXPROCS(0), o.Connections)
	}
}

// Validate returns all that is wrong with the options, joined.
func (o *Options) Validate() error {
	var problems []error
	wrong := func(format string, arguments ...any) { problems = append(problems, fmt.Errorf(format, arguments...)) }
	if len(o.Targets) == 0 {
		wrong("no target")
	}
	if o.Protocol != "" && !slices.Contains(Protocols, o.Protocol) {
		wrong("protocol %q: want one of %v", o.Protocol, Protocols)
	}
	if o.Engine != "" && !slices.Contains(Engines, o.Engine) {
		wrong("engine %q: want one of %v", o.Engine, Engines)
	}
	if o.ReceiveTime != "" && !slices.Contains(ReceiveTimes, o.ReceiveTime) {
		wrong("receive time %q: want one of %v", o.ReceiveTime, ReceiveTimes)
	}
	if arrivals := []Arrival{"", Even, Uniform, Poisson}; !slices.Contains(arrivals, o.Arrival) {
		wrong("arrival %q: want one of %v", o.Arrival, arrivals[1:])
	}
	for _, n := range []struct {
		name  string
		value int
		most  int
	}{{"connections", o.Connections, 1 << 20}, {"streams", o.Streams, 1 << 16}, {"threads", o.Threads, 1024}, {"parts", o.Parts, 1 << 16}, {"record batch", o.RecordBatch, 1 << 20}} {
		if n.value < 0 || n.value > n.most {
			wrong("%s: %d is not between 0 and %d", n.name, n.value, n.most)
		}
	}
	if o.Threads > o.Connections && o.Connections > 0 {
		wrong("threads: %d are more than the %d connections", o.Threads, o.Connections)
	}
	if o.Streams > 1 && (o.Protocol == HTTP1 || o.Protocol == "") {
		wrong("streams: HTTP/1.1 carries one request at a time on a connection, not %d", o.Streams)
	}
	if o.Part < 0 || o.Part >= max(o.Parts, 1) {
		wrong("part: %d is not between 0 and %d", o.Part, max(o.Parts, 1)-1)
	}
	if !(o.Fresh >= 0 && o.Fresh <= 1) {
		wrong("fresh: %v is not between 0 and 1", o.Fresh)
	}
	for i := range o.Targets {
		if _, _, err := o.Targets[i].requests(o.Protocol); err != nil {
			problems = append(problems, err)
		}
	}
	problems = append(problems, o.checkTime()...)
	return errors.Join(problems...)
}

func (o *Options) checkTime() (problems []error) {
	wrong := func(format string, arguments ...any) { problems = append(problems, fmt.Errorf(format, arguments...)) }
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"duration", o.Duration}, {"warm-up", o.Warmup}, {"timeout", o.Timeout}, {"spin", o.Spin}} {
		if d.value < 0 {
			wrong("%s: %v is below 0", d.name, d.value)
		}
	}
	length := o.Duration
	switch {
	case o.Rate != nil:
		problems = append(problems, o.Rate.check()...)
		length = o.Rate.Duration()
	case o.Duration == 0 && o.Requests == 0:
		wrong("duration: a closed loop needs a duration or a number of requests")
	}
	if length > 0 && o.Warmup >= length {
		wrong("warm-up: %v leaves nothing of %v", o.Warmup, length)
	}
	if o.Timeout > maxDuration/2 {
		wrong("timeout: %v is above %v", o.Timeout, maxDuration/2)
	}
	return problems
}
