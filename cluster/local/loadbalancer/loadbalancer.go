// Package loadbalancer gives Services of type LoadBalancer an address. The
// address is all it takes: kube-proxy redirects what is sent to it.
package loadbalancer

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

// Class is the loadBalancerClass that this controller answers to, beside
// Services that name none.
const Class = "gatemark.dev/local"

type controller struct {
	client   kubernetes.Interface
	services corelisters.ServiceLister
	queue    workqueue.TypedRateLimitingInterface[string]
	events   record.EventRecorder
	pool     *pool
	// starved are the Services that got no address: one goroutine works, so
	// neither this nor the pool is locked.
	starved map[string]bool
}

// Start begins to give out the addresses of a prefix, as "172.31.0.0/16", and
// goes on until ctx ends. It returns once the Services that exist are known.
func Start(ctx context.Context, client kubernetes.Interface, prefix string) error {
	addresses, err := netip.ParsePrefix(prefix)
	if err != nil {
		return fmt.Errorf("starting the LoadBalancer controller: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Services()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	c := &controller{
		client:   client,
		services: informer.Lister(),
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
		events:   broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "gatemark-loadbalancer"}),
		pool:     newPool(addresses),
		starved:  map[string]bool{},
	}
	registration, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.enqueue(obj) },
		UpdateFunc: func(_, obj any) { c.enqueue(obj) },
		DeleteFunc: func(obj any) { c.enqueue(obj) },
	})
	if err != nil {
		return fmt.Errorf("starting the LoadBalancer controller: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced, registration.HasSynced) {
		return fmt.Errorf("starting the LoadBalancer controller: listing Services: %w", context.Cause(ctx))
	}
	if err := c.adopt(); err != nil {
		return err
	}
	context.AfterFunc(ctx, func() {
		c.queue.ShutDown()
		broadcaster.Shutdown()
	})
	go c.work(ctx)
	return nil
}

// adopt marks the addresses that Services already have as taken, before any
// is given out.
func (c *controller) adopt() error {
	services, err := c.services.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("starting the LoadBalancer controller: %w", err)
	}
	for _, s := range services {
		if !ours(s) {
			continue
		}
		if ip := currentIP(s); ip.IsValid() {
			// An address outside the pool is replaced when it is synced.
			_ = c.pool.take(key(s), ip)
		}
	}
	return nil
}

func (c *controller) enqueue(obj any) {
	k, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		// Only an object that is none has no key.
		panic(fmt.Sprintf("loadbalancer: %v", err))
	}
	c.queue.Add(k)
}

func (c *controller) work(ctx context.Context) {
	for {
		k, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := c.sync(ctx, k); err != nil {
			c.queue.AddRateLimited(k)
		} else {
			c.queue.Forget(k)
		}
		c.queue.Done(k)
	}
}
