package attachedroutes

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed listenerset.yaml
var setManifest string

// setFeature is what a GatewayClass that supports ListenerSets lists.
const setFeature = "ListenerSet"

// setLimit bounds how long ListenerSets may take to be ready.
const setLimit = time.Minute

// setListeners are the listeners of the ListenerSets, each with a host name of
// its own.
func setListeners(sets, each int) []scenario.Listener {
	var all []scenario.Listener
	for s := range sets {
		for l := range each {
			name := fmt.Sprintf("set%d-l%d", s, l)
			all = append(all, scenario.Listener{Name: name, Host: "*." + name + ".gatemark.test", Set: fmt.Sprintf("set%d", s)})
		}
	}
	return all
}

// addSets makes the ListenerSets, and waits until every listener of theirs is
// ready: what is not there cannot count.
func (a *attachment) addSets(ctx context.Context) error {
	sets := a.sets()
	if len(sets) == 0 {
		return nil
	}
	if err := a.Supports(ctx, "ListenerSet", setFeature); err != nil {
		return err
	}
	a.Progress("making %d ListenerSets", len(sets))
	gateway := &gatewayv1.Gateway{}
	gateway.Namespace, gateway.Name = a.Namespace, scenario.GatewayName
	allow := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"allowedListeners":{"namespaces":{"from":"Same"}}}}`))
	if err := a.Kube.Patch(ctx, gateway, allow); err != nil {
		return scenario.Invalid{Reason: fmt.Errorf("allow ListenerSets on the Gateway: %w", err)}
	}
	for _, set := range sets {
		err := a.Apply(ctx, "listenerset.yaml", setManifest, map[string]any{
			"Name": set, "Namespace": a.Namespace, "Gateway": scenario.GatewayName,
			"Listeners": slices.DeleteFunc(slices.Clone(a.listeners), func(l scenario.Listener) bool { return l.Set != set }),
		})
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
	}
	return a.awaitSets(ctx, sets)
}

// sets names the ListenerSets.
func (a *attachment) sets() []string {
	var names []string
	for _, l := range a.listeners {
		if l.Set != "" && !slices.Contains(names, l.Set) {
			names = append(names, l.Set)
		}
	}
	return names
}

func (a *attachment) awaitSets(ctx context.Context, sets []string) error {
	ctx, cancel := context.WithTimeout(ctx, setLimit)
	defer cancel()
	for _, name := range sets {
		key := client.ObjectKey{Namespace: a.Namespace, Name: name}
		_, err := kube.Wait(ctx, a.Kube, "listenerset "+key.String(), key, func(s *gatewayv1.ListenerSet) (bool, string) {
			missing := setLacks(s)
			return len(missing) == 0, strings.Join(missing, ", ")
		})
		if err != nil {
			err = scenario.GatewayError(err)
			var failed scenario.Failed
			if why := a.Unclaimed(ctx, setFeature); why != "" && errors.As(err, &failed) {
				return scenario.Unsupported{Reason: fmt.Errorf("%s (%v)", why, err)}
			}
			return err
		}
	}
	_, err := a.WaitGateway(ctx, scenario.GatewayName)
	if err != nil {
		return scenario.GatewayError(err)
	}
	return nil
}

// setLacks lists what a ListenerSet lacks to be ready, in words.
func setLacks(s *gatewayv1.ListenerSet) []string {
	var missing []string
	if ok, why := kube.Current(s.Status.Conditions, s.Generation, string(gatewayv1.ListenerSetConditionAccepted), string(gatewayv1.ListenerSetConditionProgrammed)); !ok {
		missing = append(missing, why)
	}
	if n := len(s.Status.Listeners); n < len(s.Spec.Listeners) {
		missing = append(missing, fmt.Sprintf("%d of %d listeners have a status", n, len(s.Spec.Listeners)))
	}
	return missing
}

// checkListeners holds the listeners against what one route can attach to.
func checkListeners(values map[string]any) []error {
	listeners, ok1 := values["listeners"].(int)
	sets, ok2 := values["listenerSets"].(int)
	each, ok3 := values["setListeners"].(int)
	const hosts = 16 // the API's limit for a route
	if ok1 && ok2 && ok3 && listeners+sets*each > hosts {
		return []error{errors.New("listeners and listenerSets × setListeners are more than the 16 host names that a route can have")}
	}
	return nil
}
