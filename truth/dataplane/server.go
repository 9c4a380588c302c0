package dataplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/gatemark/gatemark/truth/config"
)

// A server is a port that is open.
type server struct {
	kind        portKind
	connections *connections
	http        *http.Server // nil where connections are passed through
}

// listen opens a port and serves it.
func (r *Replica) listen(number int32, kind portKind) (*server, error) {
	host := ""
	if r.options.Address.IsValid() {
		host = r.options.Address.String()
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(int(config.ServingPort(number)))))
	if err != nil {
		return nil, err
	}
	open := &connections{Listener: listener, open: map[*connection]bool{}}
	s := &server{kind: kind, connections: open}
	if kind == passedPort {
		go r.pass(number, open)
		return s, nil
	}
	s.http = &http.Server{
		Handler: r.handler(number), ReadHeaderTimeout: time.Minute, ErrorLog: quiet, Protocols: new(http.Protocols), ConnState: open.follow,
	}
	s.http.Protocols.SetHTTP1(true)
	if kind == securePort {
		s.http.Protocols.SetHTTP2(true)
		s.http.TLSConfig = &tls.Config{GetCertificate: r.certificates(number)}
		go s.http.ServeTLS(open, "", "")
	} else {
		s.http.Protocols.SetUnencryptedHTTP2(true)
		go s.http.Serve(open)
	}
	return s, nil
}

// closeLimit is how long requests have to end when their port closes.
const closeLimit = time.Second

// close frees a port at once, and lets its requests end for a while; what is
// passed through ends with it. It is called with the lock.
func (r *Replica) close(number int32) {
	s := r.servers[number]
	delete(r.servers, number)
	s.connections.Close()
	if s.http == nil {
		s.connections.drop()
		return
	}
	r.closing.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		// What has not ended by then is cut off, and the port is closed already.
		_ = s.http.Shutdown(ctx)
		_ = s.http.Close()
		s.connections.drop() // the server knows of no WebSockets
	})
}

// certificates picks the certificate of a handshake: of the listener that the
// client's name belongs to, the one that names it most specifically.
func (r *Replica) certificates(number int32) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := hostOf(hello.ServerName)
		p := r.table.Load().ports[number]
		if p == nil {
			return nil, errors.New("the port is being closed")
		}
		l := p.listener(name)
		if l == nil || len(l.certificates) == 0 {
			return nil, fmt.Errorf("no listener for %q", name)
		}
		return pick(l.certificates, name), nil
	}
}

// pick returns the first where none names the host.
func pick(certificates []tls.Certificate, host string) *tls.Certificate {
	best, bestName := &certificates[0], ""
	for i := range certificates {
		for _, name := range names(certificates[i].Leaf) {
			if config.MatchHost(name, host) && (bestName == "" || config.MoreSpecific(name, bestName)) {
				best, bestName = &certificates[i], name
			}
		}
	}
	return best
}

func names(leaf *x509.Certificate) []string {
	if leaf == nil {
		return nil
	}
	return leaf.DNSNames
}
