package dataplane

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
	"github.com/gatemark/gatemark/truth/feed"
)

// Options say who a replica is.
type Options struct {
	// Number tells the replicas of a Gateway apart.
	Number int
	// Address is where it listens: no address is every one of the machine.
	Address netip.Addr
	// Faults are asked at their points; nil has none.
	Faults *fault.Switch
	// Crash ends the process, where faults want that; nil only stops serving for
	// a while.
	Crash func()
	// Drain is how long requests are still served after the context of Run
	// has ended, while the replica says that it is not ready.
	Drain time.Duration
}

// A Replica serves one Gateway.
type Replica struct {
	options  Options
	source   feed.Source
	table    atomic.Pointer[table]
	wrong    wrong
	h1, h2c  *http.Transport
	once     *http.Transport // a connection for each request
	draining atomic.Bool
	killed   chan struct{}
	killing  sync.Once
	crashing chan struct{} // has something when faults want a crash

	mu      sync.Mutex
	force   Force
	changed chan struct{} // closed when force changes
	servers map[int32]*server
	closing sync.WaitGroup
}

// New returns a replica that takes its configuration from a source.
func New(source feed.Source, o Options) *Replica {
	r := &Replica{options: o, source: source, changed: make(chan struct{}), killed: make(chan struct{}), crashing: make(chan struct{}, 1), servers: map[int32]*server{}}
	r.table.Store(&table{})
	r.h1, r.h2c, r.once = newTransport(), newTransport(), newTransport()
	r.once.DisableKeepAlives = true
	r.h2c.Protocols = new(http.Protocols)
	r.h2c.Protocols.SetUnencryptedHTTP2(true)
	return r
}

// Address is where the replica listens.
func (r *Replica) Address() netip.Addr { return r.options.Address }

func newTransport() *http.Transport {
	return &http.Transport{
		DisableCompression: true, // answers pass as they are
		// Connections to backends are kept, and as many as are needed.
		MaxIdleConnsPerHost: 1 << 10,
		IdleConnTimeout:     30 * time.Second,
	}
}

func (r *Replica) transport(h2c bool) *http.Transport {
	switch {
	case h2c:
		return r.h2c
	case r.options.Faults.Now().ConnectionPerRequest:
		return r.once
	}
	return r.h1
}

// retryAsk is how long a replica waits after its control plane could not be
// reached.
const retryAsk = 200 * time.Millisecond

// Run takes configurations and serves them until the context ends. The error
// is of a configuration that cannot be served; a control plane that cannot be
// reached is asked again.
func (r *Replica) Run(ctx context.Context) error {
	defer r.h1.CloseIdleConnections()
	defer r.h2c.CloseIdleConnections()
	defer r.once.CloseIdleConnections()
	asking, stop := context.WithCancel(ctx)
	var health sync.WaitGroup
	health.Go(func() { r.askHealth(asking) })
	err := r.follow(ctx)
	stop()
	health.Wait()
	r.draining.Store(true)
	if ctx.Err() != nil {
		r.drain()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for number := range r.servers {
		r.close(number)
	}
	r.closing.Wait()
	return err
}

// drain goes on serving for a while, unless the replica is killed meanwhile.
func (r *Replica) drain() {
	if r.options.Faults.Now().CutsOnEnd {
		r.Kill()
		return
	}
	select {
	case <-time.After(r.options.Drain):
	case <-r.killed:
	}
}

// Kill ends all that the replica serves at once, as the end of its process
// would. Run ends with its context, without draining.
func (r *Replica) Kill() {
	r.killing.Do(func() { close(r.killed) })
	r.cut()
}

// pending is how many configurations a replica that is made late holds back.
const pending = 1 << 10

// A due snapshot is to be taken at an instant.
type due struct {
	snapshot *config.Snapshot
	at       time.Time
}

// follow takes what arrives, each configuration as late as the faults say.
func (r *Replica) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	arrived := make(chan due, pending)
	var receiving sync.WaitGroup
	defer receiving.Wait()
	defer cancel()
	receiving.Go(func() { r.collect(ctx, arrived) })
	var keeping keeper
	var expired <-chan time.Time // of what is kept
	taken := int64(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-expired:
		case <-r.crashing:
			r.wrong.injected.Add("crashesAbove")
			if r.crash(ctx) != nil {
				return nil
			}
			select {
			case <-r.crashing: // of requests that it crashed with
			default:
			}
			has := keeping.last
			keeping = keeper{}
			keeping.got(has, r.options.Faults.Now(), time.Now())
		case d := <-arrived:
			if pause(ctx, time.Until(d.at)) != nil {
				return nil
			}
			f := r.options.Faults.Now()
			if taken++; f.Crashes(taken) {
				r.wrong.injected.Add("crashEvery")
				if r.crash(ctx) != nil {
					return nil
				}
				keeping = keeper{}
			}
			keeping.got(d.snapshot, f, time.Now())
		}
		snapshot, until := keeping.at(time.Now())
		if err := r.take(snapshot); err != nil {
			return fmt.Errorf("configuration %d of gateway %s: %w", snapshot.Version, snapshot.Gateway, err)
		}
		if expired = nil; !until.IsZero() {
			expired = time.After(time.Until(until))
		}
	}
}

func (r *Replica) collect(ctx context.Context, arrived chan<- due) {
	hadRoutes := false
	for version := int64(0); ctx.Err() == nil; {
		snapshot, err := r.source.Next(ctx, version)
		if err != nil {
			_ = pause(ctx, retryAsk) // the loop sees its end
			continue
		}
		version = snapshot.Version
		routes := len(snapshot.Routes())
		wait := r.options.Faults.Now().BeforeApply(fault.Arrival{Replica: r.options.Number, Routes: routes, First: routes > 0 && !hadRoutes})
		hadRoutes = hadRoutes || routes > 0
		select {
		case arrived <- due{snapshot, time.Now().Add(wait)}:
		case <-ctx.Done():
		}
		_ = pause(ctx, r.options.Faults.Now().Throttle) // the loop sees its end
	}
}

// take puts a snapshot in force: for ports that are open with the swap of the
// table, then for new ports as they open.
func (r *Replica) take(snapshot *config.Snapshot) error {
	next, err := compile(snapshot)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, since := r.table.Load(), time.Now()
	next.live(before, since, r.options.Faults.Now().Flaps > 0)
	r.table.Store(next)
	for number, p := range next.ports {
		if s := r.servers[number]; s != nil && s.kind == p.kind {
			continue
		} else if s != nil {
			r.close(number)
		}
		s, err := r.listen(number, p.kind)
		if err != nil {
			return fmt.Errorf("listen for port %d: %w", number, err)
		}
		r.servers[number] = s
	}
	for number := range r.servers {
		if next.ports[number] == nil {
			r.close(number)
		}
	}
	r.force = r.force.next(next, since, time.Now())
	close(r.changed)
	r.changed = make(chan struct{})
	r.spoilChange(before, next)
	return nil
}
