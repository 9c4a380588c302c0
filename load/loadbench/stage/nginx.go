package stage

import (
	"bytes"
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"text/template"
	"time"
)

// The server's ports.
const (
	portHTTP = 8080 + iota
	portHTTPS
	portH2C
	portH2TLS
	portGRPC
)

//go:embed nginx.conf.tmpl
var nginxConfig string

var nginxTemplate = template.Must(template.New("nginx.conf").Parse(nginxConfig))

// serving is the message of a health check's answer within gRPC's frame.
const serving = "\x00\x00\x00\x00\x02\x08\x01"

// A Server is an nginx that answers everything at once with a few bytes.
type Server struct {
	*Process
	thread *Thread
}

// StartNginx starts the executable on the thread, with its files in a folder,
// and waits until it answers.
func StartNginx(ctx context.Context, t *Thread, executable, folder string, env []string) (*Server, error) {
	config := filepath.Join(folder, "nginx.conf")
	if err := writeNginx(folder, config); err != nil {
		return nil, err
	}
	p, err := t.Start(Command{Args: []string{executable, "-p", folder, "-c", config, "-e", filepath.Join(folder, "error.log")}, Env: env})
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p, thread: t}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return s, nil
}

func writeNginx(folder, config string) error {
	if err := writeCertificate(filepath.Join(folder, "certificate.pem"), filepath.Join(folder, "key.pem")); err != nil {
		return err
	}
	var text bytes.Buffer
	err := nginxTemplate.Execute(&text, map[string]any{
		"Folder": folder, "Connections": 12000, "Serving": serving,
		"HTTP": portHTTP, "HTTPS": portHTTPS, "H2C": portH2C, "H2TLS": portH2TLS, "GRPC": portGRPC,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(config, text.Bytes(), 0o600)
}

func (s *Server) awaitReady(ctx context.Context) error {
	const patience = 10 * time.Second
	for deadline := time.Now().Add(patience); ; {
		_, err := s.Served()
		switch {
		case err == nil:
			return nil
		case s.over():
			return fmt.Errorf("nginx ended at its start: %w%s", s.err, s.lastWords())
		case time.Now().After(deadline):
			return fmt.Errorf("nginx did not answer within %v: %w", patience, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

var stubStatus = regexp.MustCompile(`\n\s*(\d+) (\d+) (\d+) \n`)

// Served is how many requests the server has had, this one included.
func (s *Server) Served() (int64, error) {
	var answer []byte
	err := s.thread.Do(func() error {
		// A numeric address is dialled on the calling thread, so this
		// connection is made in the server's namespace.
		c, err := net.DialTimeout("tcp", net.JoinHostPort(loopback, strconv.Itoa(portHTTP)), time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
			return err
		}
		if _, err := c.Write([]byte("GET /status HTTP/1.0\r\n\r\n")); err != nil {
			return err
		}
		var all bytes.Buffer
		_, err = all.ReadFrom(c)
		answer = all.Bytes()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("ask nginx for its counters: %w", err)
	}
	m := stubStatus.FindSubmatch(answer)
	if m == nil {
		return 0, fmt.Errorf("nginx's counters are not in %q", answer)
	}
	return strconv.ParseInt(string(m[3]), 10, 64)
}

// A Service is one of the server's ports, and how it is spoken to.
type Service string

// The services.
const (
	HTTP  Service = "HTTP/1.1"
	HTTPS Service = "HTTP/1.1 over TLS"
	H2C   Service = "HTTP/2"
	H2TLS Service = "HTTP/2 over TLS"
	GRPC  Service = "gRPC"
)

// URL is the service's address as seen over a path.
func (s Service) URL(p Path) string {
	switch s {
	case HTTPS:
		return fmt.Sprintf("https://%s:%d/", p.Host, portHTTPS)
	case H2C:
		return fmt.Sprintf("http://%s:%d/", p.Host, portH2C)
	case H2TLS:
		return fmt.Sprintf("https://%s:%d/", p.Host, portH2TLS)
	case GRPC:
		return fmt.Sprintf("http://%s:%d/grpc.health.v1.Health/Check", p.Host, portGRPC)
	default:
		return fmt.Sprintf("http://%s:%d/", p.Host, portHTTP)
	}
}

// Negotiated says which TLS the server and a client of Go's settle on. The
// server offers one version and one cipher, so it is everybody's.
func (s *Server) Negotiated() (string, error) {
	var state tls.ConnectionState
	err := s.thread.Do(func() error {
		address := net.JoinHostPort(loopback, strconv.Itoa(portHTTPS))
		plain, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		defer plain.Close()
		// The certificate was made for this run, and nothing is sent.
		c := tls.Client(plain, &tls.Config{InsecureSkipVerify: true})
		if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
			return err
		}
		err = c.Handshake()
		state = c.ConnectionState()
		return err
	})
	if err != nil {
		return "", fmt.Errorf("shake hands with nginx: %w", err)
	}
	return tls.VersionName(state.Version) + ", " + tls.CipherSuiteName(state.CipherSuite), nil
}
