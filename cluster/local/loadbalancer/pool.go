package loadbalancer

import (
	"fmt"
	"net/netip"
)

// A pool hands out the addresses of a prefix, each to one owner.
type pool struct {
	prefix netip.Prefix
	owners map[netip.Addr]string
	taken  map[string]netip.Addr
	next   netip.Addr
}

func newPool(prefix netip.Prefix) *pool {
	prefix = prefix.Masked()
	return &pool{
		prefix: prefix,
		owners: map[netip.Addr]string{},
		taken:  map[string]netip.Addr{},
		next:   prefix.Addr().Next(),
	}
}

// of returns the owner's address, or the zero Addr.
func (p *pool) of(owner string) netip.Addr { return p.taken[owner] }

// take gives the owner one address, which must be free or the owner's.
func (p *pool) take(owner string, ip netip.Addr) error {
	if !p.prefix.Contains(ip) {
		return fmt.Errorf("address %s is not in the pool %s", ip, p.prefix)
	}
	if other, ok := p.owners[ip]; ok && other != owner {
		return fmt.Errorf("address %s belongs to Service %s", ip, other)
	}
	p.release(owner)
	p.owners[ip], p.taken[owner] = owner, ip
	return nil
}

// any gives the owner a free address: the next in turn, so that one that was
// just given back is not soon somebody else's.
func (p *pool) any(owner string) (netip.Addr, error) {
	for ip, first := p.next, true; first || ip != p.next; first = false {
		next := ip.Next()
		if !p.prefix.Contains(next.Next()) { // the last one is for broadcasts
			next = p.prefix.Addr().Next()
		}
		if _, used := p.owners[ip]; !used {
			p.next = next
			return ip, p.take(owner, ip)
		}
		ip = next
	}
	return netip.Addr{}, fmt.Errorf("all %d addresses of the pool %s are taken", len(p.owners), p.prefix)
}

func (p *pool) release(owner string) {
	if ip, ok := p.taken[owner]; ok {
		delete(p.taken, owner)
		delete(p.owners, ip)
	}
}
