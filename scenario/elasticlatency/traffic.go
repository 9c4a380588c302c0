package elasticlatency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// awaitServed returns when the route answers for the first time.
func (e *elastic) awaitServed(ctx context.Context) (err error) {
	e.Progress("waiting for the route")
	traffic, err := e.traffic(ctx, servedRate)
	if err != nil {
		return err
	}
	defer func() {
		_, stopErr := traffic.Stop(ctx)
		err = errors.Join(err, stopErr)
	}()
	for deadline := time.Now().Add(scenario.OldLimit); ; {
		lacking := unserved(traffic.Log.Since(0))
		switch {
		case lacking == "":
			return nil
		case time.Now().After(deadline):
			return scenario.Failed{Reason: fmt.Errorf("httproute %s/%s is not served after %s: %s", e.Namespace, name, scenario.OldLimit, lacking)}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// servedRate is how many requests a second look whether the route is served.
const servedRate = 50

// traffic starts requests to the route.
func (e *elastic) traffic(ctx context.Context, rate int) (*stream.Traffic, error) {
	endpoints, err := e.endpoints(ctx)
	if err != nil {
		return nil, err
	}
	asked := stream.Stream{Name: "the route", Host: host, Path: "/", Port: scenario.SecurePort, Secure: true}
	traffic, err := stream.Start(ctx, []stream.Stream{asked}, func(int32) []stream.Endpoint { return endpoints }, stream.Options{
		Rate: rate, FreshEvery: e.Values.Int("freshEvery"), Connections: e.Values.Int("connections"), Timeout: e.Values.Duration("timeout"),
	})
	if err != nil {
		return nil, scenario.Invalid{Reason: err}
	}
	return traffic, nil
}

// endpoints are where the traffic goes.
func (e *elastic) endpoints(ctx context.Context) ([]stream.Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, scenario.StageLimit)
	defer cancel()
	if e.Values.String("through") == "address" {
		address, err := e.GatewayAddress(ctx, scenario.SecurePort)
		if err != nil {
			return nil, err
		}
		return []stream.Endpoint{{Name: "the Gateway's address", Address: address}}, nil
	}
	replicas, err := e.Replicas(ctx, scenario.SecurePort)
	if err != nil {
		return nil, err
	}
	var all []stream.Endpoint
	for _, t := range (&scenario.Stage{Replicas: replicas}).Targets() {
		all = append(all, stream.Endpoint{Name: t.Name, Address: t.Address.String()})
	}
	return all, nil
}

// unserved says what is wrong with the answers, or "": a route that is served may
// well fail now and then, which other findings tell.
func unserved(hits []stream.Hit) string {
	rights, most, last := 0, 0, "no answer"
	for i := range hits {
		if right(&hits[i]) {
			rights++
			most = max(most, rights)
		} else {
			rights, last = 0, hits[i].What()
		}
	}
	if most < settledRights {
		return fmt.Sprintf("at most %d right answers came in a row; the last other one: %s", most, last)
	}
	return ""
}

// settledRights is how many right answers in a row show that the route is
// served.
const settledRights = 5
