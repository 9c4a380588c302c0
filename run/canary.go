package run

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// A canary asks a trial's Gateway, after the measurement, for one new route on
// every replica: whether it still does what it is for. The zero value has the
// limits that users get.
type canary struct {
	// patience is how long the route may take before that is held against the
	// Gateway: a scenario may have left it much to do. 30 s where it is 0.
	patience time.Duration
	// each is how long every remedy gets: 60 s where it is 0.
	each time.Duration
}

func (c canary) orDefaults() canary {
	if c.patience == 0 {
		c.patience = 30 * time.Second
	}
	if c.each == 0 {
		c.each = time.Minute
	}
	return c
}

// CanaryWrite is what the canary writes after each trial.
var CanaryWrite = scenario.Write{Verb: "create", Kind: "HTTPRoute", Count: 1}

//go:embed canary.yaml
var canaryManifest string

// A canaryRoute is what is asked for.
type canaryRoute struct {
	port           int32
	listener       string
	host, path, to string
}

// checkAlive sends the canary. A Gateway that does not answer is a finding,
// which says what brought it back.
func (e *Executor) checkAlive(ctx context.Context, t *scenario.Trial) {
	route, err := e.sendCanary(ctx, t)
	if err != nil {
		t.Note("No canary could be sent after the trial: %v.", err)
	}
	if err != nil || route == nil {
		return
	}
	t.Progress("asking the Gateway once more")
	limits := e.canary.orDefaults()
	_, err = e.untilServed(ctx, t, route, limits.patience)
	if err == nil || ctx.Err() != nil {
		return
	}
	t.Broken("stopped-answering")
	e.revive(ctx, t, route, limits, err)
}

// sendCanary makes the canary's route; none where the trial has no Gateway, or
// one without a listener for HTTP.
func (e *Executor) sendCanary(ctx context.Context, t *scenario.Trial) (*canaryRoute, error) {
	var gw gatewayv1.Gateway
	err := e.Kube.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: scenario.GatewayName}, &gw)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	route := routeOf(&gw)
	if route == nil {
		return nil, nil
	}
	objects, err := kube.Render("canary.yaml", canaryManifest, map[string]any{
		"Name": "gatemark-canary", "Namespace": t.Namespace, "Gateway": gw.Name, "Listener": route.listener,
		"Host": route.host, "Path": route.path, "To": route.to,
	})
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		kube.Own(o, t.RunID, t.Result.ID)
	}
	return route, kube.Apply(ctx, e.Kube, objects...)
}

// routeOf chooses the canary's route on the first listener that fits.
func routeOf(gw *gatewayv1.Gateway) *canaryRoute {
	for _, l := range gw.Spec.Listeners {
		if l.Protocol != gatewayv1.HTTPProtocolType {
			continue
		}
		host := "canary.gatemark.test"
		if l.Hostname != nil && *l.Hostname != "" {
			host = strings.Replace(string(*l.Hostname), "*", "canary", 1)
		}
		return &canaryRoute{port: int32(l.Port), listener: string(l.Name), host: host, path: "/gatemark-canary", to: "alive.gatemark.test"}
	}
	return nil
}

// untilServed asks until every replica answers, or the limit is over.
func (e *Executor) untilServed(ctx context.Context, t *scenario.Trial, route *canaryRoute, limit time.Duration) (time.Duration, error) {
	began := time.Now()
	for {
		err := e.served(ctx, t, route)
		took := time.Since(began)
		if err == nil || took >= limit {
			return took, err
		}
		select {
		case <-ctx.Done():
			return took, errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// served asks each replica for the route, on a connection of its own.
func (e *Executor) served(ctx context.Context, t *scenario.Trial, route *canaryRoute) error {
	replicas, err := t.FindReplicas(ctx, route.port)
	if err != nil {
		return err
	}
	asked := 0
	for _, r := range replicas {
		if !r.Serving || r.Terminating {
			continue
		}
		asked++
		if err := route.ask(ctx, r.Address().String()); err != nil {
			return fmt.Errorf("replica %s: %w", r.Pod, err)
		}
	}
	if asked == 0 {
		return fmt.Errorf("none of its %d replicas is serving", len(replicas))
	}
	return nil
}

func (r *canaryRoute) ask(ctx context.Context, address string) error {
	asker := http.Client{
		Timeout:       2 * time.Second,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+r.path, nil)
	if err != nil {
		return err
	}
	request.Host = r.host
	response, err := asker.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)); err != nil {
		return err
	}
	to, err := url.Parse(response.Header.Get("Location"))
	if err != nil || to.Hostname() != r.to {
		return fmt.Errorf("status %d, location %q", response.StatusCode, response.Header.Get("Location"))
	}
	return nil
}

// revive tries what a person would, gentlest first, until the Gateway answers,
// and makes a finding of it.
func (e *Executor) revive(ctx context.Context, t *scenario.Trial, route *canaryRoute, limits canary, cause error) {
	log := []string{fmt.Sprintf("within %s of the trial's end: %v", limits.patience, cause)}
	cure := "and nothing that was tried brought it back: waiting, a restart of its control plane, a restart of its data plane"
	for _, remedy := range []struct {
		what string
		do   func() error
	}{
		{"waiting", func() error { return nil }},
		{"a restart of its control plane", func() error {
			control, err := t.ControlPlanes()
			if err != nil {
				return err
			}
			return e.restart(ctx, t, control...)
		}},
		{"a restart of its data plane", func() error {
			data, err := t.DataPlane()
			if err != nil {
				return err
			}
			return e.restart(ctx, t, data)
		}},
	} {
		t.Progress("the Gateway does not answer; trying %s", remedy.what)
		if err := remedy.do(); err != nil {
			log = append(log, fmt.Sprintf("%s: could not be tried: %v", remedy.what, err))
			continue
		}
		took, err := e.untilServed(ctx, t, route, limits.each)
		if err == nil {
			log = append(log, fmt.Sprintf("%s: it answered after %s", remedy.what, took.Round(100*time.Millisecond)))
			cure = fmt.Sprintf("%s brought it back, after %s", remedy.what, took.Round(100*time.Millisecond))
			break
		}
		log = append(log, fmt.Sprintf("%s, for %s: %v", remedy.what, limits.each, err))
	}
	if ctx.Err() != nil {
		return
	}
	t.Find("stopped-answering", result.Broken,
		fmt.Sprintf("after the trial, the Gateway did not serve a new route within %s; %s", limits.patience, cure),
		result.Evidence{Name: "what was tried", Text: strings.Join(log, "\n")})
}

// restart ends the pods of a plane, whose controller makes new ones.
func (e *Executor) restart(ctx context.Context, t *scenario.Trial, planes ...scenario.Selector) error {
	installed := installation(t.Target.Treatment)
	if _, ours := e.Config.Installed[installed]; !ours {
		return errors.New("it was not installed by this run")
	}
	// What happens to the pods now is our doing, and no incident.
	delete(e.baselines, installed)
	for _, plane := range planes {
		selector, err := labels.Parse(plane.Labels)
		if err != nil {
			return err
		}
		var pods corev1.PodList
		if err := e.Kube.List(ctx, &pods, client.InNamespace(plane.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return err
		}
		for i := range pods.Items {
			if err := e.Kube.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(1)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}
