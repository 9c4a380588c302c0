// Package configdump asks a data-plane pod since when it has its
// configuration: a clock that is independent of gatemark's own probing, and
// evidence for a finding. It reaches the pod's admin port through the API
// server, because proxies listen for their admins on loopback only.
package configdump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// A Source is the admin port of one pod, open until Close.
type Source struct {
	client *http.Client
	port   uint16
	stop   chan struct{}
	ended  chan error
}

// Open forwards a local port to the admin port of a pod.
func Open(ctx context.Context, config *rest.Config, namespace, pod string, port int) (*Source, error) {
	source, err := open(ctx, config, namespace, pod, port)
	if err != nil {
		return nil, fmt.Errorf("forward port %d of pod %s/%s: %w", port, namespace, pod, err)
	}
	return source, nil
}

func open(ctx context.Context, config *rest.Config, namespace, pod string, port int) (*Source, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	at := base.JoinPath("api/v1/namespaces", namespace, "pods", pod, "portforward")
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	s := &Source{stop: make(chan struct{}), ended: make(chan error, 1), client: &http.Client{Timeout: 30 * time.Second}}
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, s.stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	go func() { s.ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-s.ended:
		return nil, err
	case <-ctx.Done():
		close(s.stop)
		return nil, errors.Join(ctx.Err(), <-s.ended)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		s.Close()
		return nil, err
	}
	s.port = ports[0].Local
	return s, nil
}

// Get fetches a path, which may carry a query.
func (s *Source) Get(ctx context.Context, path string) ([]byte, error) {
	at, err := url.Parse(fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", path, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", path, res.Status)
	}
	return body, nil
}

// Close ends the forwarding and waits for it.
func (s *Source) Close() {
	s.client.CloseIdleConnections()
	close(s.stop)
	<-s.ended
}
