package attack

import (
	"context"
	"fmt"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
)

// RouteParameters say what the route does on the way, and what is beside it.
var RouteParameters = []scenario.Parameter{
	{Name: "filters", Default: noFilters, OneOf: []string{noFilters, commonFilters},
		Help: "common: the route sets a header of requests and one of answers, and rewrites the path"},
	{Name: "routes", Default: 0, Min: 0, Max: 20_000, Help: "further routes of the Gateway, which get no requests"},
}

const noFilters, commonFilters = "none", "common"

// CheckRoutes finds what does not go together.
func CheckRoutes(v map[string]any) error {
	protocol, _ := v[ProtocolParameter.Name].(string)
	tls, _ := v[TLSParameter.Name].(string)
	if filters, _ := v["filters"].(string); filters == commonFilters && (protocol == string(load.GRPC) || tls == tlsPassthrough) {
		return fmt.Errorf("filters: %s are those of an HTTPRoute, and not of gRPC or of TLS that is passed through", filters)
	}
	return nil
}

// beside is how many routes there are beside the one that is attacked.
func (p *Place) beside() int {
	if _, ok := p.Values["routes"]; !ok {
		return 0
	}
	return p.Values.Int("routes")
}

// hostBeside is that of a route beside, by its number from 1 on.
func hostBeside(number int) string { return fmt.Sprintf("beside-%d.gatemark.test", number) }

// putWorkers make routes in parallel.
const putWorkers = 8

// putRoutes makes the route and those beside it. They have no filter but those
// that are asked for, so that what is measured is the proxy alone.
func (p *Place) putRoutes(ctx context.Context) error {
	if err := p.putRoute(ctx, p.name, p.host); err != nil {
		return err
	}
	n := p.beside()
	return kube.Parallel(ctx, n, putWorkers, func(made int) {
		if made%100 == 0 {
			p.Progress("making routes beside it: %d of %d", made, n)
		}
	}, func(ctx context.Context, i int) error {
		return p.putRoute(ctx, fmt.Sprintf("beside-%d", i+1), hostBeside(i+1))
	})
}

func (p *Place) putRoute(ctx context.Context, name, host string) error {
	listener := p.Wire.listener(p.name)
	if kind := p.routeKind(); kind != scenario.HTTPRoute {
		return p.Apply(ctx, "wire.yaml", fmt.Sprintf("%s{{template %q .}}", wireManifest, kind), map[string]any{
			"Name": name, "Namespace": p.Namespace, "Version": p.RouteVersion(), "Gateway": scenario.GatewayName, "Listener": listener.Name, "Host": host, "Port": p.Wire.routePort(),
		})
	}
	r := dialect.Route{Name: name, Listener: listener.Name, Host: host, Secret: listener.Secret, Service: "echo", Port: p.Wire.routePort()}
	if filters, _ := p.Values["filters"].(string); filters == commonFilters {
		r.RequestHeader, r.ResponseHeader = [][2]string{{"Gatemark-Request", "set"}}, [][2]string{{"Gatemark-Response", "set"}}
		r.Rewrite = "/rewritten"
	}
	return p.PutRoute(ctx, r)
}
