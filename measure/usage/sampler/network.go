package sampler

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gatemark/gatemark/measure/usage/cgroup"
)

// A network is a pod's network devices, as a process of the pod sees them:
// /proc/PID/net/dev is for everybody to read. The other end of a pod's cable
// has the same numbers, on the node's side; but which one that is, and whether
// there is a cable at all, is each network plugin's own affair, and to see it
// takes the node's network namespace.
//
// The open file names the pod's network whatever becomes of the process.
type network struct {
	fd      int
	buffer  [4 << 10]byte
	in, out int64 // the most that was seen
}

func openNetwork(proc string, pid int) (*network, error) {
	fd, err := unix.Open(filepath.Join(proc, strconv.Itoa(pid), "net/dev"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &network{fd: fd}, nil
}

func (n *network) close() { unix.Close(n.fd) }

// read returns the bytes in and out. A device that was taken away, as a pod's
// is before the pod is gone, leaves what was seen of it last.
func (n *network) read() (in, out int64) {
	size, err := unix.Pread(n.fd, n.buffer[:], 0)
	if err == nil {
		if in, out, err := devices(n.buffer[:size]); err == nil {
			n.in, n.out = max(n.in, in), max(n.out, out)
		}
	}
	return n.in, n.out
}

// devices adds up what all devices but the loopback have received and sent, from
// the lines of a net/dev file: "  eth0: 8 numbers of what came, 8 of what went",
// bytes first.
func devices(text []byte) (in, out int64, err error) {
	for line := range bytes.Lines(text) {
		name, numbers, ok := bytes.Cut(line, []byte(":"))
		if !ok || string(bytes.TrimSpace(name)) == "lo" {
			continue // a heading, or the loopback
		}
		fields := 0
		for number := range bytes.FieldsSeq(numbers) {
			if fields == 0 || fields == 8 {
				n, err := strconv.ParseInt(string(number), 10, 64)
				if err != nil {
					return 0, 0, fmt.Errorf("net/dev: %w", err)
				}
				if fields == 0 {
					in += n
				} else {
					out += n
				}
			}
			fields++
		}
		if fields < 9 {
			return 0, 0, fmt.Errorf("net/dev: %d numbers in %q", fields, line)
		}
	}
	return in, out, nil
}

// processes finds one process of each of the pods, by UID: the one with the
// lowest number, which is the first of the pod. What a process is in, anybody
// may read in /proc/PID/cgroup. A cgroup lists its processes as well, but only
// to readers who can see them in their own PID namespace.
func processes(proc string, wanted map[string]bool) (map[string]int, error) {
	dir, err := os.Open(proc)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(proc, name, "cgroup"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(text) {
			uid, ok := cgroup.PodOf(string(bytes.TrimSpace(line)))
			if ok && wanted[uid] && (found[uid] == 0 || pid < found[uid]) {
				found[uid] = pid
			}
			if ok {
				break
			}
		}
	}
	return found, nil
}
