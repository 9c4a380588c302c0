package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The addresses of a cluster. Every cluster has the same ones: each is alone
// in its network namespace.
const (
	nodeIP      = "172.30.0.2"
	nodeNet     = "172.30.0.2/24"
	serviceCIDR = "10.96.0.0/16"
	apiIP       = "10.96.0.1"
	dnsIP       = "10.96.0.10"
	metricsIP   = "10.96.0.11"
	podCIDR     = "10.244.0.0/16"
	// LoadBalancer addresses.
	poolCIDR = "172.31.0.0/16"
)

// setUpLoopback is all the network that a control plane needs.
func setUpLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("setting up the loopback interface: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("setting up the loopback interface: %w", err)
	}
	return nil
}

// setUpNode gives the node its address, on one end of a pair of interfaces
// whose other end stays unused. Service and LoadBalancer addresses are routed
// onto it: a locally made connection needs a route before kube-proxy's rules
// get to redirect it. Everything else is unreachable, and says so at once
// rather than after a timeout.
func setUpNode() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "node0"
	pair := netlink.NewVeth(attrs)
	pair.PeerName = "node0-peer"
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("adding the node's interface: %w", err)
	}
	for _, name := range []string{"node0-peer", "node0"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("setting up %s: %w", name, err)
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("setting up %s: %w", name, err)
		}
	}
	node, err := netlink.LinkByName("node0")
	if err != nil {
		return fmt.Errorf("setting up node0: %w", err)
	}
	address, err := netlink.ParseAddr(nodeNet)
	if err != nil {
		return fmt.Errorf("setting up node0: %w", err)
	}
	if err := netlink.AddrAdd(node, address); err != nil {
		return fmt.Errorf("giving node0 the address %s: %w", nodeNet, err)
	}
	return addRoutes(node)
}

func addRoutes(node netlink.Link) error {
	for _, cidr := range []string{serviceCIDR, poolCIDR} {
		_, dst, err := net.ParseCIDR(cidr)
		if err != nil {
			return fmt.Errorf("routing %s: %w", cidr, err)
		}
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: node.Attrs().Index, Dst: dst, Scope: netlink.SCOPE_LINK}); err != nil {
			return fmt.Errorf("routing %s: %w", cidr, err)
		}
	}
	_, everything, err := net.ParseCIDR("0.0.0.0/0")
	if err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{Dst: everything, Type: unix.RTN_UNREACHABLE}); err != nil {
		return fmt.Errorf("closing the default route: %w", err)
	}
	return nil
}

// sysctls are set in the cluster's network namespace, each of them its own
// there. One without a value belongs to the whole machine: it is read only.
// Not every kernel has all of them; what is in force is recorded.
var sysctls = []struct{ name, value string }{
	{"net.ipv4.ip_forward", "1"},
	// Above what the node's programs listen on (2379 to 10259): one that
	// starts late would find its port taken by a connection's own end.
	{"net.ipv4.ip_local_port_range", "16384 65535"},
	{"net.ipv4.tcp_max_syn_backlog", "16384"},
	{"net.core.somaxconn", "32768"},
	{"net.netfilter.nf_conntrack_max", ""},
}

// applySysctls sets what can be set and returns what is in force.
func applySysctls() (map[string]string, error) {
	inForce := map[string]string{}
	for _, s := range sysctls {
		file := filepath.Join("/proc/sys", strings.ReplaceAll(s.name, ".", "/"))
		var setErr error
		if s.value != "" {
			setErr = os.WriteFile(file, []byte(s.value), 0)
		}
		value, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading sysctl %s: %w", s.name, err)
		}
		inForce[s.name] = strings.Join(strings.Fields(string(value)), " ")
		if s.name == "net.ipv4.ip_forward" && inForce[s.name] != "1" {
			return nil, fmt.Errorf("setting sysctl %s, without which pods reach nothing: %w", s.name, setErr)
		}
	}
	return inForce, nil
}
