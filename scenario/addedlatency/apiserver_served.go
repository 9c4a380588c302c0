package addedlatency

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gatemark/gatemark/scenario"
)

// waitServed asks until the API server answers through the gateway.
func (a *apiServer) waitServed(ctx context.Context) error {
	a.Progress("waiting until the API server answers through the gateway")
	ctx, cancel := context.WithTimeout(ctx, servedLimit)
	defer cancel()
	web, err := a.web()
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	defer web.CloseIdleConnections()
	for right, last := 0, ""; right < 3; {
		if err := a.ask(ctx, web); err != nil {
			right, last = 0, err.Error()
		} else {
			right++
		}
		select {
		case <-ctx.Done():
			return scenario.Failed{Reason: fmt.Errorf("the API server does not answer through %s after %s: %s", a.Gateway, servedLimit, last)}
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// servedLimit bounds how long the way to the API server may take to be open.
const servedLimit = 30 * time.Second

// web is a client that goes through the gateway.
func (a *apiServer) web() (*http.Client, error) {
	o := a.security(gateway)
	c := &tls.Config{ServerName: apiHost, InsecureSkipVerify: o.Insecure}
	if len(o.CA) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(o.CA) {
			return nil, errors.New("the certificate authority is not in PEM")
		}
	}
	if len(o.Certificate) > 0 {
		pair, err := tls.X509KeyPair(o.Certificate, o.Key)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: c, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, a.Gateway)
		},
	}}, nil
}

func (a *apiServer) ask(ctx context.Context, web *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base(gateway)+a.path()+"/"+objectName(0)+fromCache, nil)
	if err != nil {
		return err
	}
	if a.client.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.client.token)
	}
	a.Checks++
	response, err := web.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<12))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	return err
}
