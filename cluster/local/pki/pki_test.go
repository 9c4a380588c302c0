package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func parse(t *testing.T, p Pair) *x509.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func TestIssue(t *testing.T) {
	ca, err := NewAuthority("some-ca")
	if err != nil {
		t.Fatal(err)
	}
	server, err := ca.Issue(Subject{Name: "server", Hosts: []string{"name.example", "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := ca.Issue(Subject{Name: "user", Groups: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	leaf := parse(t, server)
	for _, host := range []string{"name.example", "127.0.0.1"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("as %s: %v", host, err)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "other.example"}); err == nil {
		t.Error("the certificate is good for any name")
	}
	leaf = parse(t, client)
	if diff := cmp.Diff([]string{"a", "b"}, leaf.Subject.Organization); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
		t.Error("a client's certificate is good for a server")
	}
	if leaf.IsCA {
		t.Error("a client's certificate can sign others")
	}
}

func TestOtherAuthorityIsNotTrusted(t *testing.T) {
	ours, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := theirs.Issue(Subject{Name: "server", Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ours.cert)
	if _, err := parse(t, pair).Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		t.Error("an authority of the same name is trusted")
	}
}

func TestKubeconfigHoldsAllItNeeds(t *testing.T) {
	ca, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(Subject{Name: "user"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := Kubeconfig("some", "https://127.0.0.1:1", ca, pair)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	if config.CAFile != "" || config.CertFile != "" || config.KeyFile != "" || string(config.KeyData) != string(pair.Key) {
		t.Error("the kubeconfig refers to files, or holds another key")
	}
}

func TestWriteKeepsKeysPrivate(t *testing.T) {
	pair, err := NewKeyPair()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pair.Write(filepath.Join(dir, "pub"), filepath.Join(dir, "key")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %s", info.Mode())
	}
	if err := pair.Write(filepath.Join(dir, "none", "pub"), filepath.Join(dir, "key")); err == nil {
		t.Error("a folder that is missing is no error")
	}
}

// A server and a client that trust the authority understand each other.
func TestHandshake(t *testing.T) {
	ca, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(Subject{Name: "both", Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM())
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	server := tls.Server(a, &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert})
	client := tls.Client(b, &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots, ServerName: "127.0.0.1"})
	done := make(chan error, 1)
	go func() { done <- server.HandshakeContext(t.Context()) }()
	if err := client.HandshakeContext(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
