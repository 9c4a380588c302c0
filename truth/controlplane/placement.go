package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

// A Placement makes the data plane of Gateways: replicas in this process, or
// pods. What it makes in the cluster belongs to its Gateway, with which it
// goes.
type Placement interface {
	// Place makes a Gateway's replicas, with a Service that has these ports, or
	// changes what differs. It is called with every change, after the snapshot
	// was published, and may read objects as the control plane knows them.
	Place(ctx context.Context, objects client.Reader, gateway *gatewayv1.Gateway, ports []int32, snapshot *config.Snapshot) (Placed, error)
	// Remove ends the replicas of a Gateway that is no more.
	Remove(gateway string)
}

// Placed is how far a data plane is.
type Placed struct {
	// Addresses are where the Gateway answers; none yet where empty.
	Addresses []string
	// Ready: a replica serves.
	Ready bool
}

// DataPlane names the objects that a Gateway's data plane consists of, and
// labels them as the Gateway API says. Names of Gateways may be longer than
// those of Services and labels.
func DataPlane(g *gatewayv1.Gateway) (name string, labels map[string]string) {
	return "truth-" + shorten(g.Name, 50), map[string]string{
		gatewayv1.GatewayNameLabelKey: shorten(g.Name, 63), "app.kubernetes.io/name": "truth",
	}
}

// shorten keeps long names distinct.
func shorten(name string, limit int) string {
	name = strings.ReplaceAll(name, ".", "-")
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:limit-len(tail)], "-") + tail
}

// PortName is what a Service and its EndpointSlices call a listener's port.
func PortName(port int32) string { return fmt.Sprintf("port-%d", port) }
