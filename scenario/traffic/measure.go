package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/scenario"
)

// seen is what one turn has shown.
type seen struct {
	turn
	result *load.Result
	counts load.Counts // without the warm-up
	// sent are all requests that went out, the warm-up's too. received is what
	// came to the backends meanwhile.
	sent     int64
	received arrivals
	use      use
	// at is its middle, in seconds of the trial's clock.
	at float64

	verdict verdict
	reasons []string
}

// arrivals are what backends have counted.
type arrivals struct {
	Accepted int64 `json:"accepted"` // connections
	Requests int64 `json:"requests"`
}

// measure makes one attack.
func (t *traffic) measure(ctx context.Context, w turn) (*seen, error) {
	before, err := t.arrivals(ctx)
	if err != nil {
		return nil, err
	}
	one := &seen{turn: w, use: unknownUse()}
	if err := t.attack(ctx, one); err != nil {
		return nil, errors.Join(err, t.attackers.Reset(context.WithoutCancel(ctx)))
	}
	after, err := t.arrivals(ctx)
	if err != nil {
		return nil, err
	}
	one.received = arrivals{after.Accepted - before.Accepted, after.Requests - before.Requests}
	return one, nil
}

func (t *traffic) attack(ctx context.Context, one *seen) error {
	if err := t.attackers.Prepare(ctx, t.options(one.turn)); err != nil {
		return err
	}
	began, err := t.attackers.Start(ctx)
	if err != nil {
		return err
	}
	from := began.Add(t.Values.Duration("warmup"))
	to := from.Add(t.Values.Duration("duration"))
	for _, edge := range []time.Time{from, to} {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Until(edge)):
		}
		if t.Meter != nil {
			t.Meter.Edge(ctx)
		}
	}
	outcome, err := t.attackers.Collect(ctx)
	if err != nil {
		return err
	}
	one.result = outcome.Result
	one.count()
	one.at = t.At(from.Add(to.Sub(from) / 2))
	if t.Meter != nil {
		one.use = useOf(t.Meter.Window(from, to), t.Namespace)
	}
	return nil
}

// options are those of a turn's attack.
func (t *traffic) options(w turn) load.Options {
	length := t.Values.Duration("warmup") + t.Values.Duration("duration")
	o := load.Options{
		Connections: w.point.connections, Duration: length, Warmup: t.Values.Duration("warmup"),
		Timeout: t.Values.Duration("timeout"), Whole: true,
	}
	if w.point.rate > 0 {
		o.Rate = load.Steady(float64(w.point.rate), length)
	}
	places := []string{t.gateway}
	if w.direct {
		// Each attacker needs a connection for each place.
		places = t.backends[:min(len(t.backends), w.point.connections/t.Values.Int("attackers"))]
	}
	for _, place := range places {
		o.Targets = append(o.Targets, load.Target{
			URL: fmt.Sprintf("http://%s/?size=%d", host, w.point.payload), Connect: place,
			Expect: load.Expect{Status: http.StatusOK, Body: int64(w.point.payload)},
		})
	}
	return o
}

// count adds up what was due after the warm-up, and what was sent in all.
func (one *seen) count() {
	var all load.Counts
	for _, s := range one.result.Slices {
		all.Merge(&s.Counts)
		if s.Window != load.WarmUp {
			one.counts.Merge(&s.Counts)
		}
	}
	one.sent = sent(&all)
}

// sent are requests that did not fail before they went out.
func sent(c *load.Counts) int64 {
	n := c.Requests()
	for class, count := range c.Errors() {
		if class.Ours() {
			n -= count
		}
	}
	return n
}

// adminPort is where backends tell what they have counted: see base.yaml.
const adminPort = "8081"

// arrivals asks all backends.
func (t *traffic) arrivals(ctx context.Context) (sum arrivals, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, b := range t.backends {
		address, _, err := net.SplitHostPort(b)
		if err != nil {
			return sum, err
		}
		one, err := askBackend(ctx, net.JoinHostPort(address, adminPort))
		if err != nil {
			return sum, fmt.Errorf("ask backend %s for its counters: %w", b, err)
		}
		sum.Accepted += one.Accepted
		sum.Requests += one.Requests
	}
	return sum, nil
}

func askBackend(ctx context.Context, admin string) (one arrivals, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/counters", nil)
	if err != nil {
		return one, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return one, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return one, errors.New(response.Status)
	}
	return one, json.NewDecoder(response.Body).Decode(&one)
}

// useOf divides a window.
func useOf(w *usage.Window, namespace string) use {
	u := unknownUse()
	for _, m := range w.Each {
		to := &u.others
		switch {
		case m.Role == scenario.DataPlaneRole:
			to = &u.dataPlane
		case m.Role == scenario.ControlPlaneRole:
			to = &u.controlPlane
		case m.Role == scenario.KubernetesRole:
			to = &u.kubernetes
		case m.Role != scenario.OurRole || m.Pod == nil:
		case m.Pod.Namespace == namespace:
			to = &u.backends
		case strings.HasPrefix(m.Pod.Name, scenario.AttackerName):
			to = &u.attackers
		}
		add(to, m.CPU)
	}
	for role, of := range w.Uses {
		add(&u.all, of.CPU)
		switch role {
		case usage.Rest:
			u.rest = of.CPU
		case scenario.DataPlaneRole:
			u.memory = of.Peak
		}
	}
	u.seconds = w.To.Sub(w.From).Seconds()
	return u
}
