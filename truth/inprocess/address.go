package inprocess

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"

	"github.com/gatemark/gatemark/truth/config"
)

var taken atomic.Uint32

// address takes a loopback address that nobody else of us uses: whoever
// listens on its admin port has it.
func address() (netip.Addr, net.Listener, error) {
	const tries = 1000
	var err error
	for range tries {
		n := taken.Add(1)
		a := netip.AddrFrom4([4]byte{127, byte(64 + os.Getpid()%64), byte(n >> 8), byte(n)})
		if n%256 == 0 || n%256 == 255 {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", netip.AddrPortFrom(a, config.AdminPort).String()); err == nil {
			return a, l, nil
		}
	}
	return netip.Addr{}, nil, fmt.Errorf("find a free loopback address: %w", err)
}
