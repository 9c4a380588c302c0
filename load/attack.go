package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Lookup resolves a host name to addresses. (*net.Resolver).LookupNetIP with
// the network "ip" is one.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// A Mark begins a window: requests that are due from then on count in it.
type Mark struct {
	Window string        `json:"window"`
	At     time.Duration `json:"at"` // since the schedule's start
}

// WarmUp is the name of the window that no total counts.
const WarmUp = "warm-up"

// An Attack is one that is prepared, or runs.
type Attack struct{ a *attack }

type attack struct {
	options   Options
	endpoints []endpoint
	requests  []*Request // in the order in which they take turns
	epoch     time.Time
	engine    Engine
	loops     []*loop
	waking    sync.Mutex
	pollers   []poller // nil for threads that are gone
	collector *collector
	watch     *watch

	begin   atomic.Int64 // since epoch; never until the start
	stopped atomic.Bool
	killed  atomic.Bool
	marking sync.Mutex
	marks   atomic.Pointer[[]Mark]

	ready chan error
	wait  sync.WaitGroup

	mu      sync.Mutex
	failure error
}

// Run prepares an attack, lets it run to its end, and returns its result. When
// the context ends, the attack stops: it sends no more, and the result tells of
// what was sent.
func Run(ctx context.Context, o Options) (*Result, error) {
	a, err := Prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	a.Start(time.Now())
	return a.Wait(ctx)
}

// Prepare checks the options, resolves names, starts the threads and opens the
// connections. Connections that cannot be opened are no error: requests that
// need them will tell. A prepared attack must be waited for.
func Prepare(ctx context.Context, o Options) (*Attack, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.setDefaults()
	a := &attack{options: o, epoch: time.Now()}
	if err := a.plan(ctx); err != nil {
		return nil, err
	}
	a.begin.Store(never)
	marks := []Mark{}
	if a.options.Warmup > 0 {
		marks = append(marks, Mark{WarmUp, 0}, Mark{"", a.options.Warmup})
	}
	a.marks.Store(&marks)
	if err := a.launch(); err != nil {
		return nil, err
	}
	return &Attack{a}, nil
}

// plan renders the requests and finds out where they go.
func (a *attack) plan(ctx context.Context) error {
	var problems []error
	var weighted [][]*Request
	places := map[endpointKey]int{}
	for i := range a.options.Targets {
		t := &a.options.Targets[i]
		requests, where, err := t.requests(a.options.Protocol)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for j, r := range requests {
			e := where[j]
			place, ok := places[e.key()]
			if !ok {
				place = len(a.endpoints)
				places[e.key()] = place
				a.endpoints = append(a.endpoints, e)
			}
			r.Target, r.endpoint = i, place
			r.render()
		}
		for range max(t.Weight, 1) {
			weighted = append(weighted, requests)
		}
	}
	a.requests = interleave(weighted)
	a.options.setCounts(len(a.endpoints))
	if n, c := len(a.endpoints), a.options.Connections; n > c && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("connections: %d are too few for %d endpoints (addresses, TLS server names, paths of WebSockets), which need one each", c, n))
	}
	if n := len(a.endpoints); n > 0 && len(problems) == 0 {
		// Every thread needs a connection to each endpoint.
		a.options.Threads = max(1, min(a.options.Threads, a.options.Connections/n))
	}
	for i := range a.endpoints {
		problems = append(problems, a.resolve(ctx, &a.endpoints[i]))
	}
	return errors.Join(problems...)
}

type endpointKey struct {
	address, serverName, upgrade string
	secure                       bool
}

func (e *endpoint) key() endpointKey {
	return endpointKey{e.address, e.serverName, e.upgrade, e.secure}
}

// interleave lets lists take turns until the longest has come up once.
func interleave(lists [][]*Request) []*Request {
	longest := 0
	for _, l := range lists {
		longest = max(longest, len(l))
	}
	var out []*Request
	for i := range longest {
		for _, l := range lists {
			out = append(out, l[i%len(l)])
		}
	}
	return out
}

func (a *attack) resolve(ctx context.Context, e *endpoint) error {
	host, portText, err := net.SplitHostPort(e.address)
	if err != nil {
		return fmt.Errorf("address %q: %w", e.address, err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", portText)
	if err != nil {
		return fmt.Errorf("address %q: %w", e.address, err)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		e.addresses = []netip.AddrPort{netip.AddrPortFrom(ip, uint16(port))}
		return nil
	}
	lookup := a.options.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	found, err := lookup(ctx, host)
	if err != nil {
		return fmt.Errorf("resolve %q: %w", host, err)
	}
	if len(found) == 0 {
		return fmt.Errorf("resolve %q: no addresses", host)
	}
	slices.SortFunc(found, netip.Addr.Compare)
	for _, ip := range preferIPv4(found) {
		e.addresses = append(e.addresses, netip.AddrPortFrom(ip, uint16(port)))
	}
	return nil
}

// preferIPv4 drops IPv6 where there is both: a name with both has one server
// behind it more often than two.
func preferIPv4(all []netip.Addr) []netip.Addr {
	four := slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool { return !a.Unmap().Is4() })
	if len(four) > 0 {
		return four
	}
	return all
}

// launch starts the threads and waits until their connections are open.
func (a *attack) launch() error {
	base, err := a.options.TLS.config(a.options.Protocol)
	if err != nil {
		return err
	}
	a.engine = a.options.Engine
	if a.engine == Auto {
		a.engine = chooseEngine()
	}
	a.options.Engine = a.engine
	o := &a.options
	a.collector = newCollector(o)
	a.collector.begin = a.begin.Load
	a.collector.marks = func() []Mark { return *a.marks.Load() }
	go a.collector.run()
	a.ready = make(chan error, o.Threads)
	a.pollers = make([]poller, o.Threads)
	a.wait.Add(o.Threads)
	for i := range o.Threads {
		l := newLoop(a, i)
		newLanes(l, base)
		a.assign(l)
		a.loops = append(a.loops, l)
	}
	for _, l := range a.loops {
		go l.run()
	}
	var problems []error
	for range a.loops {
		problems = append(problems, <-a.ready)
	}
	err = errors.Join(problems...)
	if err != nil {
		a.kill()
		a.wait.Wait()
		a.collector.close()
	}
	a.watch = newWatch(a)
	return err
}

// assign gives a loop its part of the connections, spread over the endpoints
// by how many requests go there.
func (a *attack) assign(l *loop) {
	o := &a.options
	mine := o.Connections / o.Threads
	if l.index < o.Connections%o.Threads {
		mine++
	}
	share := make([]float64, len(a.endpoints))
	for _, r := range a.requests {
		share[r.endpoint] += 1 / float64(len(a.requests))
		l.lanes[r.endpoint].requests = append(l.lanes[r.endpoint].requests, r)
	}
	for slot, e := range apportion(mine, share) {
		c := &conn{loop: l, lane: l.lanes[e], slot: slot}
		c.codec = newCodec(l, c)
		l.conns = append(l.conns, c)
		l.lanes[e].conns = append(l.lanes[e].conns, c)
	}
}

// apportion deals n places out by shares, at least one each: to whoever lacks
// most. It returns the owner of each place.
func apportion(n int, share []float64) []int {
	owners := make([]int, 0, n)
	have := make([]int, len(share))
	for i := range n {
		to := i
		if i >= len(share) {
			to = 0
			for e := range share {
				if lack := func(e int) float64 { return share[e]*float64(n) - float64(have[e]) }; lack(e) > lack(to) {
					to = e
				}
			}
		}
		have[to]++
		owners = append(owners, to)
	}
	return owners
}

func (a *attack) requestFor(number uint64) *Request {
	return a.requests[number%uint64(len(a.requests))]
}

// Start begins the schedule at an instant, which may lie ahead.
func (a *Attack) Start(at time.Time) {
	a.a.watch.begin()
	a.a.begin.Store(int64(at.Sub(a.a.epoch)))
	a.a.wakeAll()
}

// Began is the instant of Start.
func (a *Attack) Began() time.Time {
	return a.a.epoch.Add(time.Duration(a.a.begin.Load()))
}

// Mark begins a window at an instant, which must lie ahead of the requests
// sent so far and behind the last mark. A few milliseconds from now is enough.
func (a *Attack) Mark(window string, at time.Time) error {
	begin := a.a.begin.Load()
	if begin == never {
		return errors.New("mark: the attack has not begun")
	}
	a.a.marking.Lock()
	defer a.a.marking.Unlock()
	old := *a.a.marks.Load()
	m := Mark{window, at.Sub(a.a.epoch) - time.Duration(begin)}
	if len(old) > 0 && m.At < old[len(old)-1].At {
		return fmt.Errorf("mark %q at %v is before mark %q at %v", window, m.At, old[len(old)-1].Window, old[len(old)-1].At)
	}
	marks := append(slices.Clone(old), m)
	a.a.marks.Store(&marks)
	a.a.wakeAll()
	return nil
}

// Stop lets the attack end: it sends no more, and waits for the answers.
func (a *Attack) Stop() {
	a.a.stopped.Store(true)
	a.a.wakeAll()
}

// Wait returns the result when the attack has ended. When the context ends, the
// attack stops; if it is prepared and not started, there is no result.
func (a *Attack) Wait(ctx context.Context) (*Result, error) {
	done := make(chan struct{})
	go func() {
		a.a.wait.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		a.Stop()
		<-done
	}
	a.a.collector.close()
	a.a.mu.Lock()
	defer a.a.mu.Unlock()
	if a.a.failure != nil {
		return nil, a.a.failure
	}
	if a.a.begin.Load() == never {
		return nil, cmp.Or(context.Cause(ctx), errors.New("the attack was stopped before it began"))
	}
	return a.a.result(), nil
}

// setPoller says how to wake a thread up; nil when it is gone.
func (a *attack) setPoller(thread int, p poller) {
	a.waking.Lock()
	defer a.waking.Unlock()
	a.pollers[thread] = p
}

func (a *attack) wakeAll() {
	a.waking.Lock()
	defer a.waking.Unlock()
	for _, p := range a.pollers {
		if p == nil {
			continue
		}
		if err := p.wake(); err != nil {
			a.setFailure(fmt.Errorf("wake a thread: %w", err))
		}
	}
}

func (a *attack) kill() {
	a.killed.Store(true)
	a.stopped.Store(true)
	a.wakeAll()
}

// fail ends the attack without a result.
func (a *attack) fail(err error) {
	if a.setFailure(err) {
		a.kill()
	}
}

// setFailure reports whether it is the first.
func (a *attack) setFailure(err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failure != nil {
		return false
	}
	a.failure = err
	return true
}
