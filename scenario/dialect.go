package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/kube"
)

// Dialect is the one in which the implementation is told its routes.
func (t *Trial) Dialect() *dialect.Dialect {
	if t.Target.Dialect == nil {
		return dialect.GatewayAPI
	}
	return t.Target.Dialect
}

// Speaks tells whether a scenario can be measured in the target's dialect.
func (t Target) Speaks(s *Scenario) error {
	if t.Dialect == nil || s.AnyDialect {
		return nil
	}
	return Unsupported{fmt.Errorf("%s needs the Gateway API, and %s is told its routes by %s", s.Name, t.Treatment, t.Dialect.Name)}
}

// RenderRoute makes a route's objects in the trial's namespace.
func (t *Trial) RenderRoute(r dialect.Route) ([]*unstructured.Unstructured, error) {
	r.Namespace, r.Gateway = t.Namespace, GatewayName
	text, err := t.Dialect().Text(r)
	if err != nil {
		return nil, err
	}
	objects, err := t.decode(text)
	if err != nil {
		return nil, fmt.Errorf("route %s in the dialect %s: %w", r.Name, t.Dialect().Name, err)
	}
	return objects, nil
}

// PutRoute writes a route as it is to be.
func (t *Trial) PutRoute(ctx context.Context, r dialect.Route) error {
	objects, err := t.RenderRoute(r)
	if err != nil {
		return err
	}
	return kube.Apply(ctx, t.Kube, objects...)
}

// PutPolicy tells the implementation a policy. Where gatemark's data has none of
// that name, the trial is unsupported.
func (t *Trial) PutPolicy(ctx context.Context, name string, of dialect.Policed) error {
	at := slices.IndexFunc(t.Target.Policies, func(p dialect.Policy) bool { return p.Name == name })
	if at < 0 {
		return Unsupported{fmt.Errorf("gatemark's data on %s has no policy %s", t.Target.Treatment, name)}
	}
	of.Namespace, of.Gateway = t.Namespace, GatewayName
	text, err := t.Target.Policies[at].Text(of)
	if err != nil {
		return Invalid{err}
	}
	objects, err := t.decode(text)
	if err == nil {
		err = kube.Apply(ctx, t.Kube, objects...)
	}
	if err != nil {
		return Invalid{fmt.Errorf("policy %s: %w", name, err)}
	}
	return nil
}

// decode reads objects, and labels them as the trial's.
func (t *Trial) decode(text string) ([]*unstructured.Unstructured, error) {
	objects, err := kube.Decode(strings.NewReader(text))
	for _, o := range objects {
		kube.Own(o, t.RunID, t.Result.ID)
	}
	return objects, err
}
