package supervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// interval is how often a condition is asked for that cannot be watched. Each
// question takes CPU time from those who work towards the answer.
const interval = 50 * time.Millisecond

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

// waitForServiceAccount waits for what every pod needs in its namespace.
func (c *cluster) waitForServiceAccount(ctx context.Context) error {
	const name = "default"
	return until(ctx, "the default service account", name, c.client.CoreV1().ServiceAccounts("default").Watch, func(*corev1.ServiceAccount) error { return nil })
}

// waitForNode waits until pods can be put on the node: it is Ready, and the
// taint that it began with is gone.
func (c *cluster) waitForNode(ctx context.Context) error {
	name := c.settings.Name
	return until(ctx, "node "+name+" to be ready", name, c.client.CoreV1().Nodes().Watch, usable)
}

func usable(node *corev1.Node) error {
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status != corev1.ConditionTrue {
			return fmt.Errorf("it is not: %s", condition.Message)
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("it has the taints %v", node.Spec.Taints)
		}
		return nil
	}
	return errors.New("it has not said so")
}

// until watches one object until it is as it should be.
func until[T runtime.Object](ctx context.Context, what, name string, watchFor func(context.Context, metav1.ListOptions) (watch.Interface, error), check func(T) error) error {
	last := errors.New("it does not exist")
	return waitFor(ctx, what, func(context.Context) error {
		// The watch may last as long as the wait does.
		w, err := watchFor(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
		if err != nil {
			return err
		}
		defer w.Stop()
		for {
			select {
			case <-ctx.Done():
				return last
			case event, open := <-w.ResultChan():
				if !open {
					return last
				}
				object, ok := event.Object.(T)
				if !ok {
					return apierrors.FromObject(event.Object)
				}
				if last = check(object); last == nil {
					return nil
				}
			}
		}
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
