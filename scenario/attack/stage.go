package attack

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed wire.yaml
var wireManifest string

// Prepare makes the backend, the Gateway and a route from a host to the backend,
// in the wire of the trial's parameters, and waits until it is served. The
// objects have the name.
func Prepare(ctx context.Context, t *scenario.Trial, name, host string) (*Place, error) {
	p, err := New(ctx, t)
	if err != nil {
		return nil, err
	}
	p.Wire, p.name, p.host = WireOf(t.Values), name, host
	if err := p.supported(ctx); err != nil {
		return nil, err
	}
	backends := scenario.Backends{Pods: t.Values.Int("backends")}
	if p.Wire.ends() {
		if _, err := p.certify(ctx, name, p.host); err != nil {
			return nil, scenario.Invalid{Reason: err}
		}
	}
	if p.Wire.TLS == tlsReencrypt {
		backends.Secret = backendSecret
		if err := p.encryptAgain(ctx); err != nil {
			return nil, err
		}
	}
	stage, err := t.SetStage(ctx, backends, p.Wire.listener(name))
	if err != nil {
		return nil, err
	}
	if err := p.find(ctx, stage.Replicas); err != nil {
		return nil, err
	}
	if err := p.putRoutes(ctx); err != nil {
		return nil, scenario.Invalid{Reason: err}
	}
	return p, p.WaitServed(ctx)
}

// routeKind is that of the wire's route: HTTPRoute, or what the dialect has, but
// for two.
func (p *Place) routeKind() string {
	switch {
	case p.Wire.TLS == tlsPassthrough:
		return scenario.TLSRoute
	case p.Wire.Protocol == load.GRPC:
		return scenario.GRPCRoute
	}
	return scenario.HTTPRoute
}

func (p *Place) supported(ctx context.Context) error {
	kind := p.routeKind()
	plain := kind == scenario.HTTPRoute && p.Wire.TLS != tlsReencrypt
	switch {
	case plain:
		return nil
	case p.Target.Dialect != nil:
		return scenario.Unsupported{Reason: fmt.Errorf("%s needs the Gateway API, and %s is told its routes by %s", p.Wire, p.Target.Treatment, p.Target.Dialect.Name)}
	}
	return p.FindRoute(ctx, scenario.RouteOf(map[string]any{scenario.RouteParameter.Name: kind}))
}

// certify makes a certificate, as a Secret of that name.
func (p *Place) certify(ctx context.Context, name, host string) (scenario.KeyPair, error) {
	pair, err := scenario.NewKeyPair(host)
	if err != nil {
		return pair, err
	}
	return pair, kube.Create(ctx, p.Kube, p.Secret(name, pair))
}

// create makes an object of the wire that the runner may create and not patch.
func (p *Place) create(ctx context.Context, template string, data map[string]any) error {
	data["Namespace"] = p.Namespace
	objects, err := p.Render("wire.yaml", fmt.Sprintf("%s{{template %q .}}", wireManifest, template), data)
	if err != nil {
		return err
	}
	return kube.Create(ctx, p.Kube, objects[0])
}

// servedLimit bounds how long a route may take to be served, each that was made
// beside it eachLimit more, and servedAnswers is how many right answers in a row
// show that it is.
const (
	servedLimit   = 30 * time.Second
	eachLimit     = 100 * time.Millisecond
	servedAnswers = 3
)

// WaitServed asks for the route, and for the last one beside it, until they are
// served.
func (p *Place) WaitServed(ctx context.Context) error {
	p.Progress("waiting for the route")
	hosts := []string{p.host}
	beside := p.beside()
	if beside > 0 {
		hosts = append(hosts, hostBeside(beside))
	}
	limit := servedLimit + time.Duration(beside)*eachLimit
	deadline := time.Now().Add(limit)
	for _, host := range hosts {
		if err := p.waitServed(ctx, host, deadline); err != nil {
			return err
		}
	}
	return nil
}

func (p *Place) waitServed(ctx context.Context, host string, deadline time.Time) error {
	began := time.Now()
	for {
		result, err := p.ask(ctx, host)
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
		p.Checks += int(result.Requests)
		if len(result.Errors) == 0 && result.Requests == servedAnswers {
			return nil
		}
		if time.Now().After(deadline) {
			kind := p.routeKind()
			if d := p.Target.Dialect; d != nil {
				kind = d.Name
			}
			return scenario.Failed{Reason: fmt.Errorf("the %s for %s in namespace %s is not served at %s after %s: %v",
				kind, host, p.Namespace, p.Gateway, time.Since(began).Round(time.Second), result.Errors)}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ask sends a few requests.
func (p *Place) ask(ctx context.Context, host string) (*load.Result, error) {
	o := load.Options{
		Targets:     []load.Target{p.Wire.Target(host, p.Gateway, 0)},
		Connections: 1, Threads: 1, Duration: 10 * time.Second, Requests: servedAnswers, Timeout: 3 * time.Second,
	}
	p.Wire.Speak(&o)
	o.Streams = 1
	return load.Run(ctx, o)
}
