package probe

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatemark/gatemark/load"
)

// markNew makes an answer the new one.
func markNew(header http.Header) {
	for _, field := range newMarker.Filter() {
		header.Set(field[0], field[1])
	}
}

// serveGRPC is a replica that serves no method before the gate opens, and every
// one from then on. It returns how often it was connected to.
func serveGRPC(open func() bool) (netip.AddrPort, *atomic.Int64, func() error, error) {
	connections := new(atomic.Int64)
	server := &http.Server{Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if !open() || r.URL.Path != "/a.S/M" {
			w.Header().Set("Grpc-Status", "12")
			return
		}
		markNew(w.Header())
		w.Write(make([]byte, 5))
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}), ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}}
	server.Protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, nil, nil, err
	}
	go server.Serve(l)
	return netip.MustParseAddrPort(l.Addr().String()), connections, server.Close, nil
}

// serveTLS is a replica that closes connections, once it has read of them,
// before the gate opens, and passes them on to a server for HTTPS from then on.
func serveTLS(open func() bool) (netip.AddrPort, func() error, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return netip.AddrPort{}, nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"b.example"}, NotAfter: time.Now().Add(time.Hour)}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return netip.AddrPort{}, nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, nil, err
	}
	config := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if !open() || hello.ServerName != "a.example" {
			hello.Conn.Close()
			return nil, io.EOF
		}
		return nil, nil
	}, Certificates: []tls.Certificate{{Certificate: [][]byte{chain}, PrivateKey: key}}}
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		markNew(w.Header())
	})}
	go server.Serve(tls.NewListener(l, config))
	return netip.MustParseAddrPort(l.Addr().String()), server.Close, nil
}

func grpcQuestion() Question {
	q := question()
	q.Protocol, q.Path = load.GRPC, "/a.S/M"
	return q
}

func tlsQuestion() Question {
	q := question()
	q.TLS, q.Old = true, Closes()
	return q
}

func TestSwitchOfGRPC(t *testing.T) {
	var g gate
	address, connections, stop, err := serveGRPC(g.open.Load)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	options := quick()
	p, err := New([]Target{{"replica", address}}, options)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, method := range []string{"/a.S/M", "/a.S/M?again"} { // kept connections go on with another question
		g.open.Store(false)
		q := grpcQuestion()
		q.Path = method
		i, err := p.Ask(q)
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Old(deadline(t)); err != nil {
			t.Fatal(err)
		}
		i.Mark(time.Now())
		time.Sleep(20 * time.Millisecond)
		g.switchOver()
		o := wait(t, i)
		sent := 0
		for n := range o.Lanes {
			lane := &o.Lanes[n]
			checkSwitch(t, lane, &g)
			if lane.Connections == Kept && lane.Reconnects+lane.IdleCloses > 0 {
				t.Errorf("%v: %d reconnects, %d closed while idle", lane, lane.Reconnects, lane.IdleCloses)
			}
			if lane.Before.Status[404]+lane.Transition.Status[404] == 0 {
				t.Errorf("%v: a method that nobody serves is no 404: %v", lane, lane.Before.Status)
			}
			if lane.Connections == Fresh {
				sent += len(lane.Samples)
			}
		}
		if n := int(connections.Load()); n < sent {
			t.Errorf("%d connections for %d probes on new ones", n, sent)
		}
	}
}

func TestSwitchOfTLS(t *testing.T) {
	var g gate
	address, stop, err := serveTLS(g.open.Load)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	options := quick()
	options.FreshStep = 5 * time.Millisecond
	i := begin(t, tlsQuestion(), options, Target{"replica", address})
	time.Sleep(20 * time.Millisecond)
	g.switchOver()
	o := wait(t, i)
	for n := range o.Lanes {
		lane := &o.Lanes[n]
		checkSwitch(t, lane, &g)
		if lane.After.Status[200] == 0 || lane.Before.Old == 0 {
			t.Errorf("%v: before %+v, after %+v", lane, lane.Before, lane.After)
		}
	}
}

func TestTheEndOfARouteForTLS(t *testing.T) {
	var closed gate
	address, stop, err := serveTLS(func() bool { return !closed.open.Load() })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	q := tlsQuestion()
	q.Old, q.New = q.New, q.Old
	options := quick()
	options.Connections, options.FreshStep = Fresh, 5*time.Millisecond
	i := begin(t, q, options, Target{"replica", address})
	closed.switchOver()
	o := wait(t, i)
	checkSwitch(t, &o.Lanes[0], &closed)
}

// What is no TLS at all is an error, and of a class of its own.
func TestAnAnswerWithoutTLS(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, newAnswer)
			defer conn.Close()
		}
	}()
	q := tlsQuestion()
	q.Old = Answers(404)
	options := quick()
	options.Connections = Fresh
	i, err := Start(q, []Target{{"replica", netip.MustParseAddrPort(plain.Addr().String())}}, options)
	if err != nil {
		t.Fatal(err)
	}
	i.Mark(time.Now())
	time.Sleep(50 * time.Millisecond)
	if err := i.Stop(); err != nil {
		t.Fatal(err)
	}
	got := i.outcome.Lanes[0].Transition
	if got.Errors[load.TLS] == 0 || got.Errors[load.TLS] != got.Sent {
		t.Errorf("%d probes, errors %v", got.Sent, got.Errors)
	}
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	closes := question()
	closes.Old = Closes()
	both := tlsQuestion()
	both.New = Closes()
	socket := question()
	socket.Protocol = load.WebSocket
	for want, q := range map[string]Question{"before TLS, which is not spoken": closes, "can show both": both, "protocol": socket} {
		_, err := Start(q, []Target{{"replica", netip.MustParseAddrPort("127.0.0.1:1")}}, quick())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ... %s ...", err, want)
		}
	}
}
