package inprocess

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gatemark/gatemark/truth/dataplane"
	"github.com/gatemark/gatemark/truth/feed"
)

// A replica serves on an address of its own, with its admin port.
type replica struct {
	*dataplane.Replica
	// ended is closed when it serves no more, and err says then what failed.
	ended chan struct{}
	err   error
}

// startReplica starts one, until the context ends. Its address is chosen here.
func startReplica(ctx context.Context, source feed.Source, o dataplane.Options) (*replica, error) {
	a, listener, err := address()
	if err != nil {
		return nil, err
	}
	o.Address = a
	r := &replica{Replica: dataplane.New(source, o), ended: make(chan struct{})}
	admin := &http.Server{Handler: r.Admin(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- admin.Serve(listener) }()
	go func() {
		defer close(r.ended)
		err := r.Run(ctx)
		err = errors.Join(err, admin.Close())
		if answer := <-served; !errors.Is(answer, http.ErrServerClosed) {
			err = errors.Join(err, answer)
		}
		if err != nil {
			r.err = fmt.Errorf("replica %d at %s: %w", o.Number, a, err)
		}
	}()
	return r, nil
}
