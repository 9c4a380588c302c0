package supervisor

import (
	"io"
	"net"
)

// forward passes connections that the host makes to the listener, which was
// opened in the host's network namespace, on to the API server in the
// cluster's own. It is the only way in, and there is none out.
func forward(listener net.Listener, to string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			logf("accepting connections for the API server: %v", err)
			return
		}
		go pass(conn, to)
	}
}

func pass(conn net.Conn, to string) {
	defer conn.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		logf("forwarding a connection to the API server: %v", err)
		return
	}
	defer server.Close()
	done := make(chan struct{}, 2)
	stream := func(dst, src net.Conn) {
		// An error is the connection's end, which both sides learn of.
		_, _ = io.Copy(dst, src)
		if tcp, ok := dst.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		done <- struct{}{}
	}
	go stream(server, conn)
	go stream(conn, server)
	<-done
	<-done
}
