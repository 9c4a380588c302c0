package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
)

// Unclaimed says why it is no fault of an implementation that a feature was
// tried and did not work: nobody says that it has it. listed is what the
// GatewayClass's status lists; where that is nothing, gatemark's data counts. It
// is "" where somebody does, or where no feature is needed.
func (t Target) Unclaimed(listed []string, feature string) string {
	switch {
	case feature == "" || slices.Contains(listed, feature):
		return ""
	case len(listed) > 0:
		return fmt.Sprintf("the GatewayClass does not list the feature %s", feature)
	case slices.Contains(t.Features, feature):
		return ""
	}
	return fmt.Sprintf("it was tried and did not work, and nobody claims the feature %s: the GatewayClass lists none, and gatemark's data not this one", feature)
}

// classLimit bounds the look at a GatewayClass after a wait is over.
const classLimit = 5 * time.Second

// Unclaimed is Target.Unclaimed with what the GatewayClass lists now. It works
// after the context has ended, and is "" where the class cannot be read.
func (t *Trial) Unclaimed(ctx context.Context, feature string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), classLimit)
	defer cancel()
	var class gatewayv1.GatewayClass
	if err := t.Kube.Get(ctx, client.ObjectKey{Name: t.Target.GatewayClass}, &class); err != nil {
		return ""
	}
	return t.Target.Unclaimed(kube.Features(&class), feature)
}
