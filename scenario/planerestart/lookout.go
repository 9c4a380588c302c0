package planerestart

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
)

// A lookout asks each replica by itself, on a connection of its own each time,
// from when its Service knows it: whether one is given users before it has its
// routes no answer to a user can tell, since none names its replica.
type lookout struct {
	find   func(context.Context) ([]kube.Replica, error)
	host   string
	settle time.Duration

	mu       sync.Mutex
	replicas map[string]*replica
	trouble  error // of the last look, nil where it succeeded
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// A replica is what is known of one.
type replica struct {
	name, address string
	// seen is when its Service first had it, ready since when it gives it users:
	// by then, at the latest. gone is that it gives it none any more.
	seen, ready time.Time
	gone        bool
	asked       bool // somebody asks it
	// good is the first right answer after the last one that was not; configured
	// says that answers were right for long enough.
	good       time.Time
	configured bool
	// early counts what was asked for after it was ready, and before it was
	// configured, and was not answered rightly, by what came instead. until is
	// when the last of these was asked for.
	early map[string]int
	until time.Time
}

const (
	// askNew is how often a replica is asked until it is configured, askKnown
	// afterwards.
	askNew   = 20 * time.Millisecond
	askKnown = 500 * time.Millisecond
	// findEvery is how often a Service is asked for its replicas.
	findEvery = 100 * time.Millisecond
	askLimit  = time.Second
)

// start looks out until stop.
func (l *lookout) start(ctx context.Context) error {
	l.replicas = map[string]*replica{}
	ctx, l.cancel = context.WithCancel(ctx)
	if err := l.look(ctx); err != nil {
		l.cancel()
		return err
	}
	l.running.Go(func() {
		for pause(ctx, findEvery) == nil {
			err := l.look(ctx)
			l.mu.Lock()
			l.trouble = err
			l.mu.Unlock()
		}
	})
	return nil
}

func (l *lookout) stop() {
	l.cancel()
	l.running.Wait()
}

// look finds the replicas that there are now.
func (l *lookout) look(ctx context.Context) error {
	found, err := l.find(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	there := map[string]bool{}
	for _, f := range found {
		key := f.Pod + " " + f.Address().String()
		if f.Terminating {
			continue
		}
		there[key] = true
		one := l.replicas[key]
		if one == nil {
			one = &replica{name: f.Pod, address: f.Address().String(), seen: now, early: map[string]int{}}
			l.replicas[key] = one
		}
		one.gone = false
		if !one.asked {
			one.asked = true
			l.running.Go(func() { l.ask(ctx, one) })
		}
		if f.Ready && f.Serving && one.ready.IsZero() {
			one.ready = now
		}
	}
	for key, one := range l.replicas {
		one.gone = one.gone || !there[key]
	}
	return nil
}

// ask asks a replica until it is gone.
func (l *lookout) ask(ctx context.Context, one *replica) {
	asker := &http.Client{Timeout: askLimit, Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext}}
	for {
		sent := time.Now()
		wrong := question(ctx, asker, one.address, l.host)
		l.mu.Lock()
		one.take(sent, time.Now(), wrong, l.settle)
		gone, step := one.gone, askNew
		one.asked = !gone
		if one.configured {
			step = askKnown
		}
		l.mu.Unlock()
		if gone || pause(ctx, step) != nil {
			return
		}
	}
}

// question returns what was wrong with the answer, or "".
func question(ctx context.Context, asker *http.Client, address, host string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		return err.Error()
	}
	request.Host = host
	response, err := asker.Do(request)
	if err != nil {
		return "no answer"
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "cut answer"
	}
	if response.StatusCode != http.StatusOK || response.Header.Get(marker.RouteHeader) != steady {
		return fmt.Sprintf("status %d", response.StatusCode)
	}
	return ""
}

// take takes an answer.
func (one *replica) take(sent, at time.Time, wrong string, settle time.Duration) {
	switch {
	case one.configured || one.gone:
	case wrong == "":
		if one.good.IsZero() {
			one.good = at
		}
		one.configured = !one.ready.IsZero() && at.Sub(one.good) >= settle
	default:
		one.good = time.Time{}
		if !one.ready.IsZero() && sent.After(one.ready) {
			one.early[wrong]++
			one.until = sent
		}
	}
}

// missing says in words which replica does not serve rightly, or "".
func (l *lookout) missing() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trouble != nil {
		return l.trouble.Error()
	}
	serving := 0
	for _, one := range l.replicas {
		switch {
		case one.gone:
		case !one.configured:
			return fmt.Sprintf("replica %s does not serve its route", one.name)
		default:
			serving++
		}
	}
	if serving == 0 {
		return "no replica serves"
	}
	return ""
}

// since are those that were first seen at an instant or later, copied.
func (l *lookout) since(at time.Time) []replica {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []replica
	for _, one := range l.replicas {
		if !one.seen.Before(at) {
			all = append(all, *one)
		}
	}
	slices.SortFunc(all, func(a, b replica) int { return a.seen.Compare(b.seen) })
	return all
}

// served is when the last of the replicas that are there was good for good, or
// zero where that was before.
func (l *lookout) served(since time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := since
	for _, one := range l.replicas {
		if !one.gone && one.good.After(last) {
			last = one.good
		}
	}
	return last
}
