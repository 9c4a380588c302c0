package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A WaitError is a wait that ended before its condition was met.
type WaitError struct {
	// What was waited for, and how far it was when the wait ended.
	What, Progress string
	After          time.Duration
	// Err is why it ended: context.DeadlineExceeded, or what stood in the way.
	Err error
}

func (e *WaitError) Error() string {
	text := fmt.Sprintf("waiting for %s: %s after %s", e.What, e.Progress, seconds(e.After))
	if !errors.Is(e.Err, context.DeadlineExceeded) {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *WaitError) Unwrap() error { return e.Err }

// An object of type T, by pointer.
type objectOf[T any] interface {
	*T
	client.Object
}

// Wait watches one object until condition holds and returns the object as it
// was then. The deadline is ctx's. condition also says how far the object is,
// in words that the error repeats; it is not called while there is no object.
func Wait[T any, P objectOf[T]](ctx context.Context, c *Client, what string, key client.ObjectKey, condition func(P) (done bool, progress string)) (P, error) {
	var last P
	opts := []client.ListOption{
		client.InNamespace(key.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", key.Name)},
	}
	err := WaitAll(ctx, c, what, opts, func(objects []P) (bool, string) {
		for _, obj := range objects {
			if client.ObjectKeyFromObject(obj) == key {
				last = obj
				return condition(obj)
			}
		}
		return false, "not there"
	})
	return last, err
}

// WaitGone watches one object until it is no more.
func WaitGone[T any, P objectOf[T]](ctx context.Context, c *Client, key client.ObjectKey) error {
	named := P(new(T))
	named.SetNamespace(key.Namespace)
	named.SetName(key.Name)
	what := "the end of " + Describe(named)
	opts := []client.ListOption{
		client.InNamespace(key.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", key.Name)},
	}
	return WaitAll(ctx, c, what, opts, func(objects []P) (bool, string) {
		for _, obj := range objects {
			if client.ObjectKeyFromObject(obj) == key {
				return false, fmt.Sprintf("still there with finalizers %q", obj.GetFinalizers())
			}
		}
		return true, "gone"
	})
}

// WaitAll watches the objects that opts select until condition holds for all
// of them together. Changes that arrive in a burst are looked at together.
func WaitAll[T any, P objectOf[T]](ctx context.Context, c *Client, what string, opts []client.ListOption, condition func([]P) (done bool, progress string)) error {
	started := time.Now()
	progress := "nothing seen"
	set := objectSet[P]{}
	look := func() (done bool) {
		done, progress = condition(set.sorted())
		return done
	}
	for {
		err := follow(ctx, c, P(new(T)), opts, set, look)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || !again(err) {
			if cause := ctx.Err(); cause != nil {
				err = cause
			}
			return &WaitError{What: what, Progress: progress, After: time.Since(started), Err: err}
		}
		select { // a broken watch must not become a busy loop
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

var (
	errWatchEnded = errors.New("watch ended")
	errNotAList   = errors.New("not a list of objects")
)

// again reports whether a new list and watch may help: the watch ran out, its
// version expired, or the API server could not be reached for a moment.
func again(err error) bool {
	if errors.Is(err, errNotAList) || runtime.IsNotRegisteredError(err) || meta.IsNoMatchError(err) {
		return false
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return true
	}
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// follow lists, then watches from there. It returns nil when look was done.
func follow[P client.Object](ctx context.Context, c *Client, kind P, opts []client.ListOption, set objectSet[P], look func() bool) error {
	list, err := listOf(c, kind)
	if err != nil {
		return err
	}
	if err := c.List(ctx, list, opts...); err != nil {
		return err
	}
	clear(set)
	if err := meta.EachListItem(list, set.put); err != nil {
		return err
	}
	if look() {
		return nil
	}
	from := &client.ListOptions{}
	from.ApplyOptions(opts)
	from.Raw = withVersion(from.Raw, list.GetResourceVersion())
	w, err := c.Watch(ctx, list, from)
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-w.ResultChan():
			if err := set.take(event, open); err != nil {
				return err
			}
			if err := set.drain(w.ResultChan()); err != nil {
				return err
			}
			if look() {
				return nil
			}
		}
	}
}

type objectSet[P client.Object] map[types.NamespacedName]P

func (s objectSet[P]) take(event watch.Event, open bool) error {
	switch {
	case !open:
		return errWatchEnded
	case event.Type == watch.Error:
		return apierrors.FromObject(event.Object)
	case event.Type == watch.Deleted:
		if obj, ok := event.Object.(P); ok {
			delete(s, client.ObjectKeyFromObject(obj))
		}
		return nil
	case event.Type == watch.Bookmark:
		return nil
	}
	return s.put(event.Object)
}

// drain takes what has arrived already, so that a condition over n objects is
// not looked at n times for n changes.
func (s objectSet[P]) drain(events <-chan watch.Event) error {
	for {
		select {
		case event, open := <-events:
			if err := s.take(event, open); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func listOf(c *Client, obj client.Object) (client.ObjectList, error) {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return nil, err
	}
	list, err := c.Scheme().New(listKind(gvk))
	if err != nil {
		return nil, err
	}
	typed, ok := list.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%s: %w", listKind(gvk).Kind, errNotAList)
	}
	return typed, nil
}

func listKind(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	gvk.Kind += "List"
	return gvk
}
