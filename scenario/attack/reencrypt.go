package attack

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatemark/gatemark/scenario"
)

const (
	// backendSecret is the certificate of the backend, and the ConfigMap by which
	// a gateway verifies it.
	backendSecret = "backend"
	// backendHost is the name in it.
	backendHost = "backend.gatemark.test"

	backendTLSPolicy = "BackendTLSPolicy"
)

// Rights are what a wire takes of the runner.
func Rights(v scenario.Values) []rbacv1.PolicyRule {
	if WireOf(v).TLS != tlsReencrypt {
		return nil
	}
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}}
}

// encryptAgain gives the backend a certificate, and has the gateway speak TLS to
// it and verify that.
func (p *Place) encryptAgain(ctx context.Context) error {
	version, err := p.SupportedVersion(ctx, backendTLSPolicy, string(features.SupportBackendTLSPolicy))
	if err != nil {
		return err
	}
	pair, err := p.certify(ctx, backendSecret, backendHost)
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	if err := p.create(ctx, "authority", map[string]any{"Name": backendSecret, "Certificate": pair.Certificate}); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if err := p.create(ctx, backendTLSPolicy, map[string]any{"Name": backendSecret, "Version": version, "Host": backendHost}); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return nil
}
