package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	light     bool       // each of them fits into TCP's first window
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
	a.ready = make(chan error, o.Threads)
	a.pollers = make([]poller, o.Threads)
	a.wait.Add(o.Threads)
	for i := range o.Threads {
		l := newLoop(a, i)
		newLanes(l, base)
		a.assign(l)
		a.loops = append(a.loops, l)
	}
	a.collector = newCollector(a)
	go a.collector.run()
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

// settled is the instant before which no thread counts any more.
func (a *attack) settled() int64 {
	least := never
	for _, l := range a.loops {
		least = min(least, l.settled.Load())
	}
	return least
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
