package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrGone says that a cgroup is no more.
var ErrGone = errors.New("the cgroup is gone")

// errAbsent says that there is no such file.
var errAbsent = errors.New("no such file")

// A buffer holds one file's text. The longest, memory.stat, has 2 to 3 KiB.
type buffer [16 << 10]byte

// read opens, reads and closes a file. An open file of a cgroup keeps a page of
// the kernel's memory, and there are a dozen files to each cgroup, so that only
// those that are read at every sample are worth keeping open.
func (b *buffer) read(dir, name string) ([]byte, error) {
	fd, err := open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return b.pread(fd, dir, name)
}

// pread reads an open file from its beginning.
func (b *buffer) pread(fd int, dir, name string) ([]byte, error) {
	for {
		n, err := unix.Pread(fd, b[:], 0)
		switch {
		case err == nil && n == len(b):
			return nil, fmt.Errorf("%s is longer than %d bytes", filepath.Join(dir, name), len(b))
		case err == nil:
			return b[:n], nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENODEV):
			return nil, ErrGone
		}
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
	}
}

// open opens without the runtime's poller, which would watch each file.
func open(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV):
			return -1, errAbsent
		}
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
}
