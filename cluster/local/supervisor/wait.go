package supervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// interval is how often a condition is asked for that cannot be watched.
const interval = 25 * time.Millisecond

// attempt bounds one question. It is short, because what is sent to a Service
// before kube-proxy knows the Service gets no answer at all.
const attempt = 500 * time.Millisecond

// waitFor asks until there is no error. In the end it says what was waited
// for, for how long, and what the last answer was.
func waitFor(ctx context.Context, what string, ask func(context.Context) error) error {
	began := time.Now()
	for {
		try, cancel := context.WithTimeout(ctx, attempt)
		err := ask(try)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w after %s; last: %w", what, context.Cause(ctx), time.Since(began).Round(time.Second), err)
		case <-time.After(interval):
		}
	}
}

func (c *cluster) get(url string) func(context.Context) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.ca.CertPEM())
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		DisableKeepAlives: true,
	}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answered %s", url, res.Status)
		}
		return nil
	}
}

func dialUnix(ctx context.Context, path string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	return conn.Close()
}

// askDNS looks a name of the cluster up at the address that pods use.
func askDNS(ctx context.Context) error {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, dnsIP+":53")
	}}
	addrs, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
	if err != nil {
		return err
	}
	if len(addrs) != 1 || addrs[0] != apiIP {
		return fmt.Errorf("kubernetes.default resolves to %v, not to %s", addrs, apiIP)
	}
	return nil
}

func (c *cluster) waitForServiceAccount(ctx context.Context) error {
	return waitFor(ctx, "the default service account", func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// waitForNode waits until pods can be put on the node: it is Ready, and the
// taint that it began with is gone.
func (c *cluster) waitForNode(ctx context.Context) error {
	return waitFor(ctx, "node "+c.settings.Name+" to be ready", func(ctx context.Context) error {
		node, err := c.client.CoreV1().Nodes().Get(ctx, c.settings.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				return fmt.Errorf("it is not: %s", condition.Message)
			}
		}
		if len(node.Status.Conditions) == 0 || len(node.Spec.Taints) > 0 {
			return fmt.Errorf("it has %d conditions and the taints %v", len(node.Status.Conditions), node.Spec.Taints)
		}
		return nil
	})
}

// waitForAPI waits until the API server serves an aggregated API: until then
// every client's discovery reports an error.
func (c *cluster) waitForAPI(ctx context.Context, name string) error {
	var service struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	return waitFor(ctx, "API "+name+" to be available", func(ctx context.Context) error {
		text, err := c.client.Discovery().RESTClient().Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices", name).DoRaw(ctx)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &service); err != nil {
			return err
		}
		for _, condition := range service.Status.Conditions {
			if condition.Type == "Available" && condition.Status == metav1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", service.Status.Conditions)
	})
}
