package addedlatency

import (
	"context"
	"fmt"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// host is the route's.
const host = "added-latency.gatemark.test"

// echo has gatemark's own backend behind the gateway.
type echo struct{ *trial }

func (e *echo) prepare(ctx context.Context) (err error) {
	e.Place, err = attack.Prepare(ctx, e.Trial, "added-latency", host)
	return err
}

func (e *echo) aim(_ context.Context, w way, o *load.Options) error {
	places := []string{e.Gateway}
	if w != gateway {
		// Each attacker needs a connection for each place.
		places = e.Backends[:min(len(e.Backends), o.Connections/e.Values.Int("attackers"))]
	}
	payload := e.Values.Int("payload")
	for _, place := range places {
		o.Targets = append(o.Targets, e.Wire.Target(host, place, payload))
	}
	e.Wire.Speak(o)
	return nil
}

func (e *echo) account(context.Context) (account, error) { return nil, nil }

// String implements upstream.
func (e *echo) String() string {
	return fmt.Sprintf("%d %s of the backend", len(e.Backends), scenario.Plural(len(e.Backends), "pod"))
}
