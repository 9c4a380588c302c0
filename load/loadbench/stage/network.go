package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// The cores: the attacker has one, the server the other.
const (
	AttackerCPU = 0
	ServerCPU   = 1
)

// Addresses within the namespaces, from which nothing can leave.
const (
	loopback        = "127.0.0.1"
	attackerAddress = "10.243.0.1"
	serverAddress   = "10.243.0.2"
)

// A Path is a way from an attacker to the server.
type Path struct {
	// Name is "loopback" or "veth".
	Name string
	// Attacker starts the attackers.
	Attacker *Thread
	// Host is the server's address as seen from there.
	Host string
}

// A Network is a server's thread and the ways to it.
type Network struct {
	Server *Thread
	Paths  []Path
	// Without says why a path is missing, if one is.
	Without string
}

// Open makes the network. Root gets two namespaces joined by a veth pair;
// others get the loopback of the namespace that they are in.
func Open() (*Network, error) {
	var available unix.CPUSet
	if err := unix.SchedGetaffinity(0, &available); err != nil {
		return nil, fmt.Errorf("read the cores that this process may use: %w", err)
	}
	if !available.IsSet(AttackerCPU) || !available.IsSet(ServerCPU) {
		return nil, failure.Hint(fmt.Errorf("cores %d and %d are not both to be had", AttackerCPU, ServerCPU),
			"attacker and server need a core each: run this on a machine, or with a cpuset, that has them")
	}
	n := &Network{}
	if err := n.open(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Network) open() (err error) {
	if os.Geteuid() != 0 {
		n.Without = "no veth pair: only root may make network namespaces"
		if n.Server, err = NewThread(func() error { return pin(ServerCPU) }); err != nil {
			return err
		}
		return n.add("loopback", loopback, func() error { return pin(AttackerCPU) })
	}
	if n.Server, err = NewThread(func() error { return errors.Join(unshare(), pin(ServerCPU)) }); err != nil {
		return err
	}
	err = n.add("loopback", loopback, func() error {
		return errors.Join(unix.Setns(n.Server.namespace, unix.CLONE_NEWNET), pin(AttackerCPU))
	})
	if err != nil {
		return err
	}
	if err := n.add("veth", serverAddress, func() error { return errors.Join(unshare(), pin(AttackerCPU)) }); err != nil {
		return err
	}
	return n.join(n.Paths[1].Attacker)
}

func (n *Network) add(name, host string, setup func() error) error {
	t, err := NewThread(setup)
	if err != nil {
		return err
	}
	n.Paths = append(n.Paths, Path{Name: name, Attacker: t, Host: host})
	return nil
}

// unshare puts the calling thread into a new network namespace whose loopback
// is up, and where many connections may be opened at once.
func unshare() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	h, err := netlink.NewHandle()
	if err != nil {
		return err
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback: %w", err)
	}
	const queue = "/proc/sys/net/core/somaxconn"
	if err := os.WriteFile(queue, []byte("16384"), 0o644); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("let more connections wait: %w", err)
	}
	return h.LinkSetUp(lo)
}

// join lays a veth pair from the attacker's namespace to the server's.
func (n *Network) join(attacker *Thread) error {
	at, err := netlink.NewHandleAt(netns.NsHandle(attacker.namespace))
	if err != nil {
		return err
	}
	defer at.Close()
	pair := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: "attacker", TxQLen: 1000},
		PeerName:      "server",
		PeerNamespace: netlink.NsFd(n.Server.namespace),
	}
	if err := at.LinkAdd(pair); err != nil {
		return fmt.Errorf("make a veth pair: %w", err)
	}
	there, err := netlink.NewHandleAt(netns.NsHandle(n.Server.namespace))
	if err != nil {
		return err
	}
	defer there.Close()
	return errors.Join(
		address(at, "attacker", attackerAddress),
		address(there, "server", serverAddress),
	)
}

func address(h *netlink.Handle, link, ip string) error {
	l, err := h.LinkByName(link)
	if err != nil {
		return fmt.Errorf("find %s: %w", link, err)
	}
	a, err := netlink.ParseAddr(ip + "/30")
	if err != nil {
		return err
	}
	if err := h.AddrAdd(l, a); err != nil {
		return fmt.Errorf("give %s the address %s: %w", link, ip, err)
	}
	return h.LinkSetUp(l)
}

// Close ends the threads, and with them the namespaces and what runs there.
func (n *Network) Close() error {
	var all []error
	for _, p := range n.Paths {
		all = append(all, p.Attacker.Close())
	}
	if n.Server != nil {
		all = append(all, n.Server.Close())
	}
	return errors.Join(all...)
}
