package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gatemark/gatemark/cluster/local/layout"
	"golang.org/x/sys/unix"
)

// lock keeps other commands from making or removing the same cluster. The
// kernel drops it with this process. The file stays: removing it would let
// two hold a lock of the same name.
func lock(ctx context.Context, dir layout.Dir) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dir.Lock()), 0o755); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	f, err := os.OpenFile(dir.Lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the cluster: %w", err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", dir.Lock(), err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("another gatemark is making or removing this cluster (it holds %s): %w", dir.Lock(), ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
