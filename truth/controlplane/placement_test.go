package controlplane

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestLongNames(t *testing.T) {
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("long.", 50)}}
	h := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("long.", 50) + "er"}}
	name, labels := DataPlane(g)
	other, _ := DataPlane(h)
	if len(name) > 63 || len(labels[gatewayv1.GatewayNameLabelKey]) > 63 || strings.Contains(name, ".") || name == other {
		t.Errorf("%s, %v, %s", name, labels, other)
	}
}
