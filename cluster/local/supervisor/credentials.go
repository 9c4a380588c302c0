package supervisor

import (
	"fmt"
	"os"

	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/cluster/local/pki"
)

const adminGroup = "system:masters"

// serverURL is where the components reach the API server.
const serverURL = "https://127.0.0.1:6443"

// client is a user of the API server that has a kubeconfig.
type client struct {
	file    string
	subject pki.Subject
}

func clients(s handshake.Settings) []client {
	all := []client{
		{"supervisor", pki.Subject{Name: "gatemark:supervisor", Groups: []string{adminGroup}}},
		{"kube-controller-manager", pki.Subject{Name: "system:kube-controller-manager"}},
	}
	if s.Full {
		all = append(all,
			client{"kube-scheduler", pki.Subject{Name: "system:kube-scheduler"}},
			client{"kube-proxy", pki.Subject{Name: "system:kube-proxy"}},
			client{"kubelet", pki.Subject{Name: "system:node:" + s.Name, Groups: []string{"system:nodes"}}},
			client{"coredns", pki.Subject{Name: "system:coredns"}},
			client{"metrics-server", pki.Subject{Name: "system:metrics-server"}},
		)
	}
	return all
}

// servers are the certificates that others verify, by file name.
func servers(s handshake.Settings) map[string]pki.Subject {
	all := map[string]pki.Subject{
		"apiserver": {Name: "kube-apiserver", Hosts: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
			"localhost", "127.0.0.1", apiIP, nodeIP,
		}},
		"apiserver-kubelet-client": {Name: "kube-apiserver-kubelet-client", Groups: []string{adminGroup}},
	}
	if s.Full {
		all["kubelet"] = pki.Subject{Name: "system:node:" + s.Name, Groups: []string{"system:nodes"}, Hosts: []string{s.Name, nodeIP}}
		all["metrics-server"] = pki.Subject{Name: "metrics-server", Hosts: []string{"metrics-server.kube-system.svc", nodeIP, metricsIP}}
		all["kube-scheduler"] = pki.Subject{Name: "system:kube-scheduler", Hosts: []string{"127.0.0.1"}}
	}
	return all
}

// writeCredentials makes every certificate, key and kubeconfig, and returns
// the cluster's authority.
func writeCredentials(s handshake.Settings) (*pki.Authority, error) {
	dir := layout.Dir(s.Dir)
	ca, err := writeAuthority(dir, "ca")
	if err != nil {
		return nil, err
	}
	front, err := writeAuthority(dir, "front-proxy-ca")
	if err != nil {
		return nil, err
	}
	if err := issue(dir, front, "front-proxy-client", pki.Subject{Name: "front-proxy-client"}); err != nil {
		return nil, err
	}
	for file, subject := range servers(s) {
		if err := issue(dir, ca, file, subject); err != nil {
			return nil, err
		}
	}
	for _, c := range clients(s) {
		if err := writeKubeconfig(dir.PKI(c.file+".kubeconfig"), s.Name, serverURL, ca, c.subject); err != nil {
			return nil, err
		}
	}
	host := fmt.Sprintf("https://127.0.0.1:%d", s.Port)
	admin := pki.Subject{Name: "gatemark:admin", Groups: []string{adminGroup}}
	if err := writeKubeconfig(dir.Kubeconfig(), contextName(s.Name), host, ca, admin); err != nil {
		return nil, err
	}
	pair, err := pki.NewKeyPair()
	if err != nil {
		return nil, err
	}
	if err := pair.Write(dir.PKI("service-accounts.pub"), dir.PKI("service-accounts.key")); err != nil {
		return nil, fmt.Errorf("writing credentials: %w", err)
	}
	return ca, nil
}

// contextName is what the cluster is called in a kubeconfig.
func contextName(name string) string {
	if name == "gatemark" {
		return name
	}
	return "gatemark-" + name
}

func writeAuthority(dir layout.Dir, name string) (*pki.Authority, error) {
	ca, err := pki.NewAuthority(name)
	if err != nil {
		return nil, err
	}
	key, err := ca.KeyPEM()
	if err != nil {
		return nil, err
	}
	pair := pki.Pair{Cert: ca.CertPEM(), Key: key}
	if err := pair.Write(dir.PKI(name+".crt"), dir.PKI(name+".key")); err != nil {
		return nil, fmt.Errorf("writing credentials: %w", err)
	}
	return ca, nil
}

func issue(dir layout.Dir, ca *pki.Authority, file string, subject pki.Subject) error {
	pair, err := ca.Issue(subject)
	if err != nil {
		return err
	}
	if err := pair.Write(dir.PKI(file+".crt"), dir.PKI(file+".key")); err != nil {
		return fmt.Errorf("writing credentials: %w", err)
	}
	return nil
}

func writeKubeconfig(file, name, server string, ca *pki.Authority, subject pki.Subject) error {
	pair, err := ca.Issue(subject)
	if err != nil {
		return err
	}
	text, err := pki.Kubeconfig(name, server, ca, pair)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("writing credentials: %w", err)
	}
	return nil
}
