package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// plan renders the requests and finds out where they go.
func (a *attack) plan(ctx context.Context) error {
	var problems []error
	var weighted [][]*Request
	places := map[endpointKey]int{}
	for i := range a.options.Targets {
		t := &a.options.Targets[i]
		requests, where, err := t.requests(a.options.Protocol)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for j, r := range requests {
			e := where[j]
			place, ok := places[e.key()]
			if !ok {
				place = len(a.endpoints)
				places[e.key()] = place
				a.endpoints = append(a.endpoints, e)
			}
			r.Target, r.endpoint = i, place
			r.render()
		}
		for range max(t.Weight, 1) {
			weighted = append(weighted, requests)
		}
	}
	a.requests = interleave(weighted)
	a.light = a.options.Streams <= 1 && !slices.ContainsFunc(a.requests, func(r *Request) bool {
		return len(r.wire)+len(r.body) > firstWindow
	})
	a.options.setCounts(len(a.endpoints))
	if n, c := len(a.endpoints), a.options.Connections; n > c && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("connections: %d are too few for %d endpoints (addresses, TLS server names, paths of WebSockets), which need one each", c, n))
	}
	if n := len(a.endpoints); n > 0 && len(problems) == 0 {
		// Every thread needs a connection to each endpoint.
		a.options.Threads = max(1, min(a.options.Threads, a.options.Connections/n))
	}
	for i := range a.endpoints {
		problems = append(problems, a.resolve(ctx, &a.endpoints[i]))
	}
	return errors.Join(problems...)
}

// firstWindow is what TCP sends before anything is acknowledged, in bytes: less
// than the ten segments of RFC 6928 on any path.
const firstWindow = 5 << 10

type endpointKey struct {
	address, serverName, upgrade string
	secure                       bool
}

func (e *endpoint) key() endpointKey {
	return endpointKey{e.address, e.serverName, e.upgrade, e.secure}
}

// interleave lets lists take turns until the longest has come up once.
func interleave(lists [][]*Request) []*Request {
	longest := 0
	for _, l := range lists {
		longest = max(longest, len(l))
	}
	var out []*Request
	for i := range longest {
		for _, l := range lists {
			out = append(out, l[i%len(l)])
		}
	}
	return out
}

func (a *attack) resolve(ctx context.Context, e *endpoint) error {
	host, portText, err := net.SplitHostPort(e.address)
	if err != nil {
		return fmt.Errorf("address %q: %w", e.address, err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", portText)
	if err != nil {
		return fmt.Errorf("address %q: %w", e.address, err)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		e.addresses = []netip.AddrPort{netip.AddrPortFrom(ip, uint16(port))}
		return nil
	}
	lookup := a.options.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	found, err := lookup(ctx, host)
	if err != nil {
		return fmt.Errorf("resolve %q: %w", host, err)
	}
	if len(found) == 0 {
		return fmt.Errorf("resolve %q: no addresses", host)
	}
	slices.SortFunc(found, netip.Addr.Compare)
	for _, ip := range preferIPv4(found) {
		e.addresses = append(e.addresses, netip.AddrPortFrom(ip, uint16(port)))
	}
	return nil
}

// preferIPv4 drops IPv6 where there is both: a name with both has one server
// behind it more often than two.
func preferIPv4(all []netip.Addr) []netip.Addr {
	four := slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool { return !a.Unmap().Is4() })
	if len(four) > 0 {
		return four
	}
	return all
}

// assign gives a loop its part of the connections, spread over the endpoints
// by how many requests go there.
func (a *attack) assign(l *loop) {
	o := &a.options
	mine := o.Connections / o.Threads
	if l.index < o.Connections%o.Threads {
		mine++
	}
	share := make([]float64, len(a.endpoints))
	for _, r := range a.requests {
		share[r.endpoint] += 1 / float64(len(a.requests))
		l.lanes[r.endpoint].requests = append(l.lanes[r.endpoint].requests, r)
	}
	for slot, e := range apportion(mine, share) {
		c := &conn{loop: l, lane: l.lanes[e], slot: slot}
		c.codec = newCodec(l, c)
		l.conns = append(l.conns, c)
		l.lanes[e].conns = append(l.lanes[e].conns, c)
	}
}

// apportion deals n places out by shares, at least one each: to whoever lacks
// most. It returns the owner of each place.
func apportion(n int, share []float64) []int {
	owners := make([]int, 0, n)
	have := make([]int, len(share))
	for i := range n {
		to := i
		if i >= len(share) {
			to = 0
			for e := range share {
				if lack := func(e int) float64 { return share[e]*float64(n) - float64(have[e]) }; lack(e) > lack(to) {
					to = e
				}
			}
		}
		have[to]++
		owners = append(owners, to)
	}
	return owners
}

func (a *attack) requestFor(number uint64) *Request {
	return a.requests[number%uint64(len(a.requests))]
}
