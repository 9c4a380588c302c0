package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// A kind of object that can be listed and deleted.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

type ownedObject struct {
	*metav1.PartialObjectMetadata
	kind kind
}

func (o ownedObject) String() string { return o.kind.resource.Resource + " " + name(o) }

// held says what keeps an object from ending.
func (o ownedObject) held() string {
	switch {
	case o.DeletionTimestamp == nil:
		return o.String() + " is not ending"
	case len(o.Finalizers) > 0:
		return o.String() + " waits for " + strings.Join(o.Finalizers, ", ")
	default:
		return o.String() + " is ending"
	}
}

// discover lists the kinds. A group that cannot be looked into is remembered
// and does not stop the rest.
func (r *remover) discover(ctx context.Context) ([]kind, error) {
	lists, err := discovery.ServerPreferredResourcesWithContext(ctx, r.client.Discovery)
	var partial *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &partial) {
		for gv, why := range partial.Groups {
			r.removal.Skipped = append(r.removal.Skipped, fmt.Sprintf("%s: %v", gv, why))
		}
		slices.Sort(r.removal.Skipped)
	} else if err != nil {
		return nil, err
	}
	var kinds []kind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, res := range list.APIResources {
			if slices.Contains(res.Verbs, "list") && slices.Contains(res.Verbs, "delete") {
				kinds = append(kinds, kind{gv.WithResource(res.Name), res.Namespaced})
			}
		}
	}
	return kinds, nil
}

var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// phases orders kinds: an object goes before what it needs to end properly.
func phases(kinds []kind) [][]kind {
	ordered := make([][]kind, 4)
	for _, k := range kinds {
		at := 1
		switch {
		case k.namespaced:
			at = 0
		case k.resource.GroupResource() == schema.GroupResource{Resource: "namespaces"}:
			at = 2
		case k.resource.GroupResource() == definitions:
			at = 3
		}
		ordered[at] = append(ordered[at], k)
	}
	return ordered
}

const listPage = 1000

// list finds the owned objects of kinds, several kinds at a time.
func (r *remover) list(ctx context.Context, kinds []kind) ([]ownedObject, error) {
	var mu sync.Mutex
	var all []ownedObject
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, k := range kinds {
		group.Go(func() error {
			objects, err := r.listKind(ctx, k)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, objects...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b ownedObject) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

func (r *remover) listKind(ctx context.Context, k kind) ([]ownedObject, error) {
	var objects []ownedObject
	opts := metav1.ListOptions{LabelSelector: r.options.selector(), Limit: listPage}
	for {
		page, err := r.client.Metadata.Resource(k.resource).List(ctx, opts)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err): // the kind went away, or is not for listing
			return objects, nil
		case apierrors.IsForbidden(err):
			r.skip(k, err)
			return objects, nil
		case apierrors.IsResourceExpired(err): // took too long over the pages
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("list %s: %w", k.resource.GroupResource(), err)
		}
		for i := range page.Items {
			objects = append(objects, ownedObject{&page.Items[i], k})
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			break
		}
	}
	if k.resource.GroupResource() == definitions {
		return r.unused(ctx, objects)
	}
	return objects, nil
}

func (o DeleteOptions) selector() string {
	text := o.Owned.String()
	for _, label := range o.Except {
		text += ",!" + label
	}
	return text
}

// unused leaves out the definitions whose end would be the end of objects that
// are not gatemark's.
func (r *remover) unused(ctx context.Context, definitions []ownedObject) ([]ownedObject, error) {
	var unused []ownedObject
	for _, d := range definitions {
		users, err := r.othersOf(ctx, schema.ParseGroupResource(d.Name))
		if err != nil {
			return nil, err
		}
		if len(users) == 0 {
			unused = append(unused, d)
			continue
		}
		r.mu.Lock()
		if text := fmt.Sprintf("%s: %s is not gatemark's", d.Name, name(&users[0])); !slices.Contains(r.removal.Kept, text) {
			r.removal.Kept = append(r.removal.Kept, text)
		}
		r.mu.Unlock()
	}
	return unused, nil
}

// othersOf finds an object of a kind that is not gatemark's, if there is one.
func (r *remover) othersOf(ctx context.Context, gr schema.GroupResource) ([]metav1.PartialObjectMetadata, error) {
	at := slices.IndexFunc(r.kinds, func(k kind) bool { return k.resource.GroupResource() == gr })
	if at < 0 { // not served, so that it has no objects that could be seen
		return nil, nil
	}
	list, err := r.client.Metadata.Resource(r.kinds[at].resource).List(ctx, metav1.ListOptions{
		LabelSelector: OwnerLabel + "!=" + Owner, Limit: 1,
	})
	if apierrors.IsNotFound(err) { // ending already
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list who else uses %s: %w", gr, err)
	}
	return list.Items, nil
}

// skip remembers a kind that we may not list. Most are none of ours: a role
// that may create what gatemark needs need not read the rest.
func (r *remover) skip(k kind, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := fmt.Sprintf("%s: %v", k.resource.GroupResource(), err)
	if !slices.Contains(r.removal.Skipped, text) {
		r.removal.Skipped = append(r.removal.Skipped, text)
	}
}

func kindsOf(objects []ownedObject) []kind {
	var kinds []kind
	for _, obj := range objects {
		if !slices.Contains(kinds, obj.kind) {
			kinds = append(kinds, obj.kind)
		}
	}
	return kinds
}

// countByKind is short enough for a line: "400 httproutes, 12 services".
func countByKind(objects []ownedObject) string {
	count := map[string]int{}
	for _, obj := range objects {
		count[obj.kind.resource.Resource]++
	}
	names := make([]string, 0, len(count))
	for n := range count {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%d %s", count[n], n)
	}
	if len(names) > 3 {
		names = append(names[:3], "...")
	}
	return strings.Join(names, ", ")
}
