package elasticlatency

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

//go:embed elasticlatency.yaml
var manifest string

// name is that of the route, the backend and the certificate; host is what is
// asked for.
const name, host = "elastic", "elastic.gatemark.test"

// object renders a template of elasticlatency.yaml.
func (e *elastic) object(template string, data any) ([]*unstructured.Unstructured, error) {
	return e.Render("elasticlatency.yaml", manifest+"{{template \""+template+"\" .}}\n", data)
}

func (e *elastic) put(ctx context.Context, template string, data any) error {
	objects, err := e.object(template, data)
	if err != nil {
		return err
	}
	return kube.Apply(ctx, e.Kube, objects...)
}

// prepare makes everything, and finds out which events there can be.
func (e *elastic) prepare(ctx context.Context) error {
	secret, _, err := e.certify()
	if err == nil {
		err = kube.Create(ctx, e.Kube, secret)
	}
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	if _, err := e.SetStage(ctx, scenario.Backends{Pods: 1}, scenario.Listener{Name: "https", Secret: name}, scenario.Listener{Name: "http"}); err != nil {
		return err
	}
	if err := e.discover(ctx); err != nil {
		return err
	}
	if err := e.findProxies(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if err := e.reset(ctx); err != nil {
		return err
	}
	return e.awaitServed(ctx)
}

// discover finds the events that cannot be asked for: the GatewayClass lists
// features without theirs, or the definitions in the cluster have no such field.
func (e *elastic) discover(ctx context.Context) error {
	e.skipped = map[string]string{}
	if e.Target.Dialect != nil {
		return e.discoverDialect(timeline(e.Values))
	}
	var class gatewayv1.GatewayClass
	if err := e.Kube.Get(ctx, client.ObjectKey{Name: e.Target.GatewayClass}, &class); err != nil {
		return scenario.Invalid{Reason: fmt.Errorf("read %s: %w", kube.Describe(&class), err)}
	}
	for _, one := range timeline(e.Values) {
		if one.feature == "" {
			continue
		}
		var lacks scenario.Unsupported
		if err := scenario.ListsFeature(&class, one.feature); errors.As(err, &lacks) {
			e.skipped[one.kind] = err.Error()
			continue
		}
		refused, err := e.refused(ctx, *one.route)
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
		if refused != "" {
			e.skipped[one.kind] = refused
		}
	}
	return nil
}

// discoverDialect finds them where the routes are not the Gateway API's. Without
// a header of requests no answer could be told from any other.
func (e *elastic) discoverDialect(all []event) error {
	if lacks := e.Dialect().Lacks(e.route(shape{}, 1)); len(lacks) > 0 {
		return scenario.Unsupported{Reason: fmt.Errorf("the dialect %s has no filter %v, by which answers are told apart", e.Dialect().Name, lacks)}
	}
	for _, one := range all {
		if one.route == nil {
			continue
		}
		if lacks := e.Dialect().Lacks(e.route(*one.route, 1)); slices.Contains(lacks, one.filter) {
			e.skipped[one.kind] = fmt.Sprintf("the dialect %s has no filter %s", e.Dialect().Name, one.filter)
		}
	}
	return nil
}

// refused asks the API server what it would say to a route, without making it.
func (e *elastic) refused(ctx context.Context, s shape) (string, error) {
	objects, err := e.RenderRoute(e.route(s.without(e.skipped), 1))
	if err != nil {
		return "", err
	}
	for _, o := range objects {
		err = e.Kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.ForceOwnership, client.FieldOwner(kube.FieldManager), client.DryRunAll)
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return fmt.Sprintf("the definitions of the Gateway API in this cluster refuse it: %v", err), nil
		}
		if err != nil {
			return "", fmt.Errorf("try %s: %w", kube.Describe(o), err)
		}
	}
	return "", nil
}

// route is the route in a shape.
func (e *elastic) route(s shape, generation int64) dialect.Route {
	r := dialect.Route{
		Name: name, Listener: "https", Host: host, Secret: name, Service: name, Port: 80, RequestHeader: marker.Expect(name, generation).Filter(),
	}
	if s.CORS {
		r.CORS = "https://elsewhere.gatemark.test"
	}
	if s.Header {
		r.ResponseHeader = [][2]string{{"Elastic", "changed"}}
	}
	if s.Rewrite {
		r.Rewrite = "/rewritten"
	}
	return r
}

// podsLimit bounds how long the backend's pods may take to be there.
const podsLimit = 2 * time.Minute

// reset makes the backend and the route be as they are before a timeline.
func (e *elastic) reset(ctx context.Context) error {
	e.Progress("making the backend and the route as they begin")
	e.generation++
	err := e.put(ctx, "backend", map[string]any{"Namespace": e.Namespace, "EchoImage": e.EchoImage, "Replicas": e.Values.Int("backends")})
	if err == nil {
		err = e.PutRoute(ctx, e.route(shape{}, e.generation))
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, podsLimit)
		defer cancel()
		_, err = kube.Wait(ctx, e.Kube, "deployment "+e.Namespace+"/"+name, client.ObjectKey{Namespace: e.Namespace, Name: name}, e.settled(e.Values.Int("backends")))
	}
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	return nil
}

// settled reports whether the backend has exactly so many pods, all of them as
// it was last written.
func (e *elastic) settled(pods int) func(d *appsv1.Deployment) (bool, string) {
	return func(d *appsv1.Deployment) (bool, string) {
		ok, progress := scenario.Available(d)
		return ok && int(d.Status.Replicas) == pods && int(d.Status.UpdatedReplicas) == pods, progress
	}
}

// perform goes through the timeline at one rate.
func (e *elastic) perform(ctx context.Context, p *pass) error {
	if p.start > lead {
		if err := e.reset(ctx); err != nil {
			return err
		}
	}
	if err := e.until(ctx, p.start-lead); err != nil {
		return err
	}
	traffic, err := e.traffic(ctx, p.rate)
	if err != nil {
		return err
	}
	p.lanes, p.began = traffic.Lanes, traffic.Began
	p.zero = traffic.At(e.Zero().Add(p.start))
	failed := e.events(ctx, p, traffic)
	results, err := traffic.Stop(ctx)
	if err := errors.Join(failed, err); err != nil {
		return scenario.Invalid{Reason: err}
	}
	p.load.Add(results)
	p.take(traffic.Log.Since(0))
	return nil
}

// until waits for an instant of the trial's clock.
func (e *elastic) until(ctx context.Context, at time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(e.Zero().Add(at))):
		return nil
	}
}

// events has the timeline's events happen, each at its instant.
func (e *elastic) events(ctx context.Context, p *pass, traffic *stream.Traffic) error {
	if err := e.until(ctx, p.start); err != nil {
		return err
	}
	if p.notServed = unserved(traffic.Log.Since(0)); p.notServed != "" {
		e.Broken("not-served")
		return nil
	}
	all := timeline(e.Values)
	for i, one := range all {
		e.Progress("%d requests/s: %s (%d of %d)", p.rate, one.kind, i+1, len(all))
		if err := e.until(ctx, p.start+one.at); err != nil {
			return err
		}
		happened := &happening{event: one}
		if _, skip := e.skipped[one.kind]; !skip {
			if err := e.happen(ctx, p, happened); err != nil {
				return fmt.Errorf("%s: %w", one.kind, err)
			}
			p.happenings = append(p.happenings, happened)
		}
		if err := e.until(ctx, p.start+one.at+e.Values.Duration("step")-endLook); err != nil {
			return err
		}
		if err := e.look(ctx, happened); err != nil {
			return err
		}
	}
	return e.until(ctx, p.start+length(e.Values))
}

// endLook is how long before the end of a step it is looked whether the cluster
// has done its part.
const endLook = 100 * time.Millisecond

// happen makes one event.
func (e *elastic) happen(ctx context.Context, p *pass, h *happening) error {
	start := time.Now()
	h.late = start.Sub(e.Zero().Add(p.start + h.at))
	switch {
	case h.route != nil:
		e.generation++
		h.generation = e.generation
		if err := e.PutRoute(ctx, e.route(h.route.without(e.skipped), e.generation)); err != nil {
			return err
		}
	case h.certificate:
		var err error
		if h.serial, err = e.rotate(ctx); err != nil {
			return err
		}
	case h.gateway:
		if err := e.scaleGateway(ctx, h.proxies); err != nil {
			return err
		}
	default:
		w, err := kube.GetWorkload(ctx, e.Kube, kube.WorkloadRef{Kind: "Deployment", Namespace: e.Namespace, Name: name})
		switch {
		case err != nil:
			return err
		case h.restart:
			_, err = w.Restart(ctx, e.Kube)
		default:
			err = w.Scale(ctx, e.Kube, int64(e.Values.Int("backends")+h.more))
		}
		if err != nil {
			return err
		}
	}
	h.answered = time.Since(start)
	e.Event(start, eventName(h.kind, p.rate), h.title)
	return nil
}

// eventName is that of an event in pictures.
func eventName(kind string, rate int) string { return fmt.Sprintf("%s at %d/s", kind, rate) }

// look tells whether the backend is as the event wants it: the cluster's part.
func (e *elastic) look(ctx context.Context, h *happening) error {
	switch {
	case h.route != nil || h.certificate:
		return nil
	case h.gateway:
		return e.lookAtGateway(ctx, h)
	}
	var d appsv1.Deployment
	if err := e.Kube.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: name}, &d); err != nil {
		return fmt.Errorf("read deployment %s/%s: %w", e.Namespace, name, err)
	}
	if ok, progress := e.settled(e.Values.Int("backends") + h.more)(&d); !ok {
		h.unsettled = progress
	}
	return nil
}
