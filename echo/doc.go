// Package echo is gatemark's backend: it tells which pod answered, reflects the
// marker that the route set on the way, and counts. It knows no Kubernetes.
//
// It must cost much less for each request than any gateway, because it often
// shares a machine with the one that is measured. So it reads HTTP/1.1 by
// itself, one goroutine for each connection, without allocation for each
// request, and HTTP/2 by a loop around x/net's framing: BenchmarkEcho holds it
// against net/http.
package echo
