package controlplane

import (
	"crypto/tls"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

// pairs remembers which Secrets hold a certificate and its key: checking one
// takes far longer than everything else about a listener.
type pairs struct {
	checked map[types.UID]checkedSecret
}

type checkedSecret struct {
	version string
	err     error
}

func newPairs() *pairs { return &pairs{checked: map[types.UID]checkedSecret{}} }

func (p *pairs) check(s *corev1.Secret) error {
	if known, ok := p.checked[s.UID]; ok && known.version == s.ResourceVersion {
		return known.err
	}
	_, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
	if s.Type != corev1.SecretTypeTLS {
		err = fmt.Errorf("its type is %s, not %s", s.Type, corev1.SecretTypeTLS)
	}
	p.checked[s.UID] = checkedSecret{s.ResourceVersion, err}
	return err
}

// findCertificates resolves a listener's references to Secrets.
func (w *world) findCertificates(l *listener, pairs *pairs) {
	if l.spec.TLS == nil || len(l.spec.TLS.CertificateRefs) == 0 {
		l.resolved = no(gatewayv1.ListenerReasonInvalidCertificateRef, "no certificate is given")
		return
	}
	for _, ref := range l.spec.TLS.CertificateRefs {
		certificate, v := w.certificate(l.owner, ref, pairs)
		if !v.ok {
			l.resolved = v
			continue
		}
		l.certificates = append(l.certificates, certificate)
	}
}

func (w *world) certificate(owner client.Object, ref gatewayv1.SecretObjectReference, pairs *pairs) (config.Certificate, verdict) {
	key := client.ObjectKey{Namespace: group(ref.Namespace, owner.GetNamespace()), Name: string(ref.Name)}
	kind := "Gateway"
	if _, ok := owner.(*gatewayv1.ListenerSet); ok {
		kind = "ListenerSet"
	}
	invalid := func(err error) (config.Certificate, verdict) {
		return config.Certificate{}, no(gatewayv1.ListenerReasonInvalidCertificateRef, fmt.Sprintf("secret %s: %v", key, err))
	}
	if group(ref.Group, "") != "" || group(ref.Kind, "Secret") != "Secret" {
		return invalid(fmt.Errorf("kind %s is not supported", group(ref.Kind, "Secret")))
	}
	if !w.granted(reference{kind, owner.GetNamespace()}, "Secret", key) {
		return config.Certificate{}, no(gatewayv1.ListenerReasonRefNotPermitted, fmt.Sprintf("secret %s: no ReferenceGrant permits it", key))
	}
	secret := w.secrets[key]
	if secret == nil {
		return invalid(errors.New("not found"))
	}
	if err := pairs.check(secret); err != nil {
		return invalid(err)
	}
	return config.Certificate{Chain: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}, verdict{ok: true}
}

// A reference is where one comes from: an object of the Gateway API.
type reference struct{ kind, namespace string }

// granted tells whether a reference to an object of the core group is within
// its namespace or permitted by a ReferenceGrant.
func (w *world) granted(from reference, kind string, to client.ObjectKey) bool {
	if from.namespace == to.Namespace {
		return true
	}
	for _, g := range w.grants[to.Namespace] {
		if grantsFrom(g, from) && grantsTo(g, kind, to.Name) {
			return true
		}
	}
	return false
}

func grantsFrom(g *gatewayv1.ReferenceGrant, from reference) bool {
	for _, f := range g.Spec.From {
		if f.Group == gatewayv1.GroupName && string(f.Kind) == from.kind && string(f.Namespace) == from.namespace {
			return true
		}
	}
	return false
}

func grantsTo(g *gatewayv1.ReferenceGrant, kind, name string) bool {
	for _, t := range g.Spec.To {
		if t.Group == "" && string(t.Kind) == kind && (t.Name == nil || *t.Name == "" || string(*t.Name) == name) {
			return true
		}
	}
	return false
}
