package pki

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns a kubeconfig that holds everything it needs: it refers
// to no other file. name names its cluster, user and context.
func Kubeconfig(name, server string, authority *Authority, client Pair) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority.CertPEM()}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: client.Cert, ClientKeyData: client.Key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	text, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing a kubeconfig for %s: %w", server, err)
	}
	return text, nil
}
