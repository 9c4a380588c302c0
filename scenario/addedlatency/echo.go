package addedlatency

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// host is the route's.
const host = "added-latency.gatemark.test"

// echo has gatemark's own backend behind the gateway.
type echo struct{ *trial }

func (e *echo) prepare(ctx context.Context) error {
	backends := e.Values.Int("backends")
	stage, err := e.SetStage(ctx, backends, scenario.Listener{Name: "http"})
	if err != nil {
		return err
	}
	if e.Place, err = attack.Find(ctx, e.Trial, stage, backends); err != nil {
		return err
	}
	if err := e.PutRoute(ctx, attack.Route("added-latency", host)); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return e.WaitServed(ctx, "added-latency", host)
}

func (e *echo) aim(_ context.Context, w way, o *load.Options) error {
	places := []string{e.Gateway}
	if w != gateway {
		// Each attacker needs a connection for each place.
		places = e.Backends[:min(len(e.Backends), o.Connections/e.Values.Int("attackers"))]
	}
	payload := e.Values.Int("payload")
	for _, place := range places {
		o.Targets = append(o.Targets, load.Target{
			URL: fmt.Sprintf("http://%s/?size=%d", host, payload), Connect: place,
			Expect: load.Expect{Status: http.StatusOK, Body: int64(payload)},
		})
	}
	return nil
}

// String implements upstream.
func (e *echo) String() string {
	return fmt.Sprintf("%d %s of the backend", len(e.Backends), scenario.Plural(len(e.Backends), "pod"))
}
