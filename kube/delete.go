package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatemark/gatemark/internal/failure"
)

// A Removal is what DeleteAll did.
type Removal struct {
	// Deleted counts the objects that were there and are gone.
	Deleted int
	// Forced names the objects whose finalizers were taken off.
	Forced []string
	// Kept names the definitions that stay, because objects of their kinds
	// that are not gatemark's would go with them.
	Kept []string
	// Skipped names the API groups that could not be looked into, with why:
	// an aggregated API that is down, most often.
	Skipped []string
}

// DeleteOptions is how DeleteAll removes.
type DeleteOptions struct {
	// Owned selects: what OwnedBy returns. It must hold OwnerLabel.
	Owned labels.Set
	// Except are labels that spare an object, whatever their values.
	Except []string
	// Progress, if not nil, is told how far it is: "412 of 5000 left".
	Progress func(format string, args ...any)
	// Force, if over 0, takes the finalizers off objects that have been
	// deleting for so long without an end, because the controller that should
	// is gone. What such a controller would have cleaned up stays behind.
	Force time.Duration
}

// deletions is how many deletions are under way at once. The API server's
// deletecollection works on one object at a time and commits each; requests in
// parallel share commits: 2,500 routes went in 8 to 10 s this way, and in 12 to
// 15 s that way, on two busy CPUs.
const deletions = 32

// DeleteAll removes every object of every kind that carries the labels: what
// lives in namespaces first, then what belongs to the cluster, then
// namespaces, then definitions. It returns when all are gone, and keeps trying
// until ctx ends, which should have a deadline. It may be called
// again at any time, after a crash too. The error says what is left and what
// holds it.
func DeleteAll(ctx context.Context, c *Client, o DeleteOptions) (Removal, error) {
	if o.Owned[OwnerLabel] != Owner {
		return Removal{}, fmt.Errorf("delete by labels %q: they do not select gatemark's own objects only", o.Owned)
	}
	r := &remover{client: c, options: o, started: time.Now(), seen: map[types.UID]bool{}}
	var err error
	if r.kinds, err = r.discover(ctx); err != nil {
		return r.removal, fmt.Errorf("find out which kinds this cluster has: %w", err)
	}
	for _, phase := range phases(r.kinds) {
		if err := r.remove(ctx, phase); err != nil {
			return r.removal, err
		}
	}
	r.removal.Deleted = len(r.seen)
	return r.removal, nil
}

type remover struct {
	client  *Client
	options DeleteOptions
	started time.Time
	removal Removal
	kinds   []kind
	// seen holds every object that was found, so that what comes back under a
	// new UID counts anew.
	seen map[types.UID]bool

	mu sync.Mutex // guards removal while kinds are listed
}

// remove deletes what there is of kinds, looking again until nothing is left:
// controllers copy labels and may make new objects meanwhile.
func (r *remover) remove(ctx context.Context, kinds []kind) error {
	pause := 20 * time.Millisecond
	var left []ownedObject
	for {
		now, err := r.list(ctx, kinds)
		if err == nil {
			left = now
			if len(left) == 0 {
				return nil
			}
			r.tell(left)
			// Kinds of which there is nothing now are looked at again by the
			// next clean; here they would cost a request each time.
			kinds = kindsOf(left)
			err = r.delete(ctx, left)
		}
		if err != nil && ctx.Err() == nil && !again(err) {
			return fmt.Errorf("removing gatemark's objects: %w", err)
		}
		if err := r.force(ctx, left); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return r.unfinished(ctx, left)
		case <-time.After(pause):
		}
		pause = min(pause*2, time.Second)
	}
}

func (r *remover) tell(left []ownedObject) {
	for _, obj := range left {
		r.seen[obj.UID] = true
	}
	if r.options.Progress != nil {
		r.options.Progress("%d of %d left (%s)", len(left), len(r.seen), countByKind(left))
	}
}

// delete asks for the end of every object that is not ending yet.
func (r *remover) delete(ctx context.Context, objects []ownedObject) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deletions)
	background := metav1.DeletePropagationBackground
	for i, obj := range objects {
		if obj.DeletionTimestamp != nil {
			continue
		}
		group.Go(func() error {
			// The UID guards against a namesake that came in between.
			err := r.client.Metadata.Resource(obj.kind.resource).Namespace(obj.Namespace).Delete(ctx, obj.Name,
				metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &obj.UID}})
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || again(err) {
				return nil // gone, replaced, or worth another round
			}
			if err != nil {
				return fmt.Errorf("delete %s: %w", obj, err)
			}
			return nil
		})
		if r.options.Progress != nil && i > 0 && i%500 == 0 {
			r.options.Progress("%d of %d left (%s)", len(objects)-i, len(r.seen), countByKind(objects[i:]))
		}
	}
	return group.Wait()
}

// force takes finalizers off objects that have been deleting for too long.
func (r *remover) force(ctx context.Context, objects []ownedObject) error {
	if r.options.Force <= 0 || ctx.Err() != nil {
		return nil
	}
	for _, obj := range objects {
		if obj.DeletionTimestamp == nil || len(obj.Finalizers) == 0 || time.Since(obj.DeletionTimestamp.Time) < r.options.Force {
			continue
		}
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"finalizers":null}}`, obj.UID)
		_, err := r.client.Metadata.Resource(obj.kind.resource).Namespace(obj.Namespace).
			Patch(ctx, obj.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("take finalizers %q off %s: %w", obj.Finalizers, obj, err)
		}
		r.removal.Forced = append(r.removal.Forced, fmt.Sprintf("%s (%s)", obj, strings.Join(obj.Finalizers, ", ")))
	}
	return nil
}

func (r *remover) unfinished(ctx context.Context, left []ownedObject) error {
	var held []string
	for _, obj := range left {
		if len(held) == 5 {
			held = append(held, fmt.Sprintf("and %d more", len(left)-5))
			break
		}
		held = append(held, obj.held())
	}
	err := fmt.Errorf("removing gatemark's objects: %d of %d left after %s: %s: %w",
		len(left), len(r.seen), seconds(time.Since(r.started)), strings.Join(held, "; "), ctx.Err())
	if slices.ContainsFunc(left, func(o ownedObject) bool { return o.DeletionTimestamp != nil }) {
		err = failure.Hint(err, "an object with finalizers waits for its controller; if that is gone for good, `gatemark clean --force` ends it")
	}
	return err
}
