package attacker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gatemark/gatemark/load"
)

// FleetOptions change how a Fleet speaks to its attackers. The zero value
// works.
type FleetOptions struct {
	// Dial opens connections to the attackers' addresses, by default over TCP
	// from here.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Patience is how long an attacker may take to answer before it is lost.
	// Default 5 s.
	Patience time.Duration
	// Lead is how far ahead of its instant a start or a mark is told. It must
	// be longer than the slowest attacker needs to hear it. Default 1 s.
	Lead time.Duration
}

// A Fleet makes several attackers attack as one. Its methods are called one
// after the other; Lost may be waited for meanwhile.
type Fleet struct {
	remotes []*remote
	options FleetOptions
	clock   clock
	attack  *attack // the one in hand
}

// NewFleet greets the attackers. From then on each must remain the process that
// it is.
func NewFleet(ctx context.Context, token string, members []Member, o FleetOptions) (*Fleet, error) {
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	if o.Lead == 0 {
		o.Lead = time.Second
	}
	if len(members) == 0 {
		return nil, errors.New("a fleet needs an attacker")
	}
	// No proxy from the environment, and no compression: both cost the
	// processors that attack.
	client := &http.Client{Transport: &http.Transport{DialContext: o.Dial, DisableCompression: true, MaxIdleConnsPerHost: 4}}
	f := &Fleet{options: o, clock: newClock(0)}
	names := map[string]bool{}
	for _, m := range members {
		if m.Name == "" || names[m.Name] {
			return nil, fmt.Errorf("attacker %q at %s: the name is empty or another's", m.Name, m.Address)
		}
		names[m.Name] = true
		f.remotes = append(f.remotes, &remote{Member: m, http: client, token: token, patience: o.Patience})
	}
	if err := f.each(func(_ int, r *remote) error { return r.greet(ctx) }); err != nil {
		client.CloseIdleConnections()
		return nil, err
	}
	return f, nil
}

// each does something with all attackers at once, and returns all errors.
func (f *Fleet) each(do func(i int, r *remote) error) error {
	problems := make([]error, len(f.remotes))
	var wait sync.WaitGroup
	for i, r := range f.remotes {
		wait.Go(func() { problems[i] = do(i, r) })
	}
	wait.Wait()
	return errors.Join(problems...)
}

// Prepare deals the options out (see load.Options.Split) and returns when every
// attacker's connections are open. Without Threads, each attacker gets as many
// event loops as the one with the fewest processors can keep busy.
func (f *Fleet) Prepare(ctx context.Context, o load.Options) error {
	if f.attack != nil {
		return errors.New("prepare: the fleet's last attack was neither collected nor reset")
	}
	if o.Lookup != nil || o.Records != nil || o.Slice != nil {
		return errors.New("prepare: functions (Lookup, Records, Slice) cannot go to attackers in other processes")
	}
	parts, err := o.Split(len(f.remotes), f.threads())
	if err != nil {
		return fmt.Errorf("deal an attack out to %d attackers: %w", len(f.remotes), err)
	}
	a := newAttack(f)
	f.attack = a
	if err := f.each(func(i int, r *remote) error { return r.prepare(ctx, a.id, parts[i]) }); err != nil {
		return a.fail(err)
	}
	return nil
}

// threads is how many event loops every attacker can keep busy.
func (f *Fleet) threads() int {
	perNode := map[string]int{}
	for _, r := range f.remotes {
		perNode[r.Node]++
	}
	least := 1 << 10
	for _, r := range f.remotes {
		cpus := r.cpus
		if r.Node != "" {
			cpus /= perNode[r.Node]
		}
		least = min(least, max(1, cpus))
	}
	return least
}

// Start measures the attackers' clocks and tells each to begin at one instant,
// which is returned. From then on the attackers are watched.
func (f *Fleet) Start(ctx context.Context) (time.Time, error) {
	a, err := f.inHand("start")
	if err != nil {
		return time.Time{}, err
	}
	if !a.began.IsZero() {
		return time.Time{}, errors.New("start: the attack has begun already")
	}
	if a.before, err = f.measure(ctx); err != nil {
		return time.Time{}, a.fail(err)
	}
	a.start = f.clock.now() + int64(f.options.Lead)
	a.began = f.clock.instant(a.start)
	if err := f.each(func(i int, r *remote) error { return r.start(ctx, a.id, a.start+int64(a.before[i].Offset)) }); err != nil {
		return time.Time{}, a.fail(err)
	}
	a.watch()
	return a.began, nil
}

// measure reads one clock after the other: they would get in each other's way.
func (f *Fleet) measure(ctx context.Context) ([]Offset, error) {
	offsets := make([]Offset, len(f.remotes))
	for i, r := range f.remotes {
		var err error
		if offsets[i], err = measure(ctx, f.clock.now, r.readClock); err != nil {
			return nil, err
		}
	}
	return offsets, nil
}

// Mark begins a window at one instant for all attackers, a little ahead, and
// returns that instant.
func (f *Fleet) Mark(ctx context.Context, window string) (time.Time, error) {
	a, err := f.inHand("mark")
	if err != nil {
		return time.Time{}, err
	}
	if a.began.IsZero() {
		return time.Time{}, errors.New("mark: the attack has not begun")
	}
	at := max(time.Since(a.began), 0) + f.options.Lead
	if err := f.each(func(_ int, r *remote) error { return r.mark(ctx, a.id, window, at) }); err != nil {
		// Those that heard it count in other windows than those that did not.
		return time.Time{}, a.fail(err)
	}
	return a.began.Add(at), nil
}

// Stop lets all attackers end: they send no more, and wait for their answers.
// Each stops when it hears it.
func (f *Fleet) Stop(ctx context.Context) error {
	a, err := f.inHand("stop")
	if err != nil {
		return err
	}
	if err := f.each(func(_ int, r *remote) error { return r.stop(ctx, a.id) }); err != nil {
		return a.fail(err)
	}
	return nil
}

// An Outcome is what a fleet has found, as one attacker and each for itself,
// and how well their clocks agreed.
type Outcome struct {
	load.Merged
	Clocks []Clock `json:"clocks"`
	// Skew bounds, in nanoseconds, how far apart any two attackers began.
	Skew time.Duration `json:"skew"`
}

// Collect waits for the end of the attack, and merges what the attackers found.
// When the context ends first, the attack is stopped and lost.
func (f *Fleet) Collect(ctx context.Context) (*Outcome, error) {
	a, err := f.inHand("collect")
	if err != nil {
		return nil, err
	}
	if a.began.IsZero() {
		return nil, errors.New("collect: the attack has not begun")
	}
	out, err := a.collect(ctx)
	if err != nil {
		return nil, a.fail(err)
	}
	a.end()
	f.attack = nil
	return out, nil
}

// Lost is closed when the attack in hand has failed, because an attacker was
// lost or for another reason: every other method tells it. It is nil without
// an attack.
func (f *Fleet) Lost() <-chan struct{} {
	if f.attack == nil {
		return nil
	}
	return f.attack.failed
}

// Reset ends whatever the attackers do and forgets it, so that another attack
// can be prepared. It waits for their last answers.
func (f *Fleet) Reset(ctx context.Context) error {
	if f.attack != nil {
		f.attack.end()
		f.attack = nil
	}
	return f.each(func(_ int, r *remote) error { return r.reset(ctx) })
}

// Close lets go of the connections to the attackers. It stops nothing.
func (f *Fleet) Close() {
	if f.attack != nil {
		f.attack.end()
	}
	f.remotes[0].http.CloseIdleConnections()
}

// inHand is the attack in hand, or why there is none any more.
func (f *Fleet) inHand(what string) (*attack, error) {
	if f.attack == nil {
		return nil, fmt.Errorf("%s: no attack is prepared", what)
	}
	select {
	case <-f.attack.failed:
		return nil, f.attack.err
	default:
		return f.attack, nil
	}
}
