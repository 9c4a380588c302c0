package supervisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/cluster/local/loadbalancer"
	"github.com/gatemark/gatemark/cluster/local/pki"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// deadline bounds the whole bring-up. It takes seconds where nothing is
// wrong; a machine that is busy with something else gets time.
const deadline = 3 * time.Minute

// cluster is what the steps of the bring-up share.
type cluster struct {
	settings handshake.Settings
	dir      layout.Dir
	values   values
	programs programs
	parts    *components
	report   *reporter
	ca       *pki.Authority
	rest     *rest.Config
	client   kubernetes.Interface
}

func bringUp(ctx context.Context, cancel context.CancelCauseFunc, s handshake.Settings, listener net.Listener, r *reporter) error {
	ctx, stop := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("not done within %s", deadline))
	defer stop()
	c := &cluster{settings: s, dir: layout.Dir(s.Dir), programs: newPrograms(s), report: r}
	if err := r.step(ctx, "namespaces", func(context.Context) error { return c.isolate(cancel) }); err != nil {
		return err
	}
	if err := r.step(ctx, "certificates", func(context.Context) error { return c.configure() }); err != nil {
		return err
	}
	go forward(listener, "127.0.0.1:6443")
	var err error
	if s.Full {
		err = c.startNode(ctx)
	} else {
		err = c.startControlPlane(ctx)
	}
	if err != nil {
		return err
	}
	return c.parts.settled()
}

// isolate makes the namespaces, which the process is already in, its own.
func (c *cluster) isolate(cancel context.CancelCauseFunc) error {
	parts, err := newComponents(c.settings, cancel)
	if err != nil {
		return err
	}
	c.parts = parts
	if err := setUpLoopback(); err != nil {
		return err
	}
	if !c.settings.Full {
		return nil
	}
	if err := setUpMounts(c.dir, c.settings.StateDir, c.settings.NodeDir); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(c.settings.Name)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	if parts.sysctls, err = applySysctls(); err != nil {
		return err
	}
	return setUpNode()
}

// configure writes all files that components read.
func (c *cluster) configure() error {
	layers := ""
	if c.settings.Full {
		var err error
		if layers, err = snapshotter(c.dir); err != nil {
			return err
		}
	}
	c.values = newValues(c.settings, layers)
	if err := writeConfig(c.settings, c.values); err != nil {
		return err
	}
	ca, err := writeCredentials(c.settings)
	if err != nil {
		return err
	}
	c.ca = ca
	c.values.CABundle = caBundle(ca)
	config, err := clientcmd.BuildConfigFromFlags("", c.programs.kubeconfig("supervisor"))
	if err != nil {
		return fmt.Errorf("reading the supervisor's kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "gatemark-supervisor"
	c.rest = config
	c.client, err = kubernetes.NewForConfig(config)
	return err
}

// startControlPlane starts what tests against an API server need: the
// controller manager ends namespaces and makes EndpointSlices.
func (c *cluster) startControlPlane(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	serving := make(chan struct{})
	group.Go(func() error { return c.startEtcd(ctx) })
	group.Go(func() error { return c.startAPIServer(ctx, serving) })
	group.Go(func() error { return after(ctx, serving, c.startControllerManager) })
	return group.Wait()
}

// startNode starts everything, and what need not wait for each other at once.
//
// The API server answers long before it is ready: it then writes its RBAC
// roles, one by one. Components that are let in by the node authorizer, or
// wait for its health themselves, begin meanwhile. The others begin when it
// is ready: what they ask for too early is refused, and they ask again only
// after a while.
func (c *cluster) startNode(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	runtime, serving, ready := make(chan struct{}), make(chan struct{}), make(chan struct{})
	group.Go(func() error { return c.startEtcd(ctx) })
	group.Go(func() error {
		if err := c.startContainerd(ctx); err != nil {
			return err
		}
		close(runtime)
		return nil
	})
	group.Go(func() error {
		if err := c.startAPIServer(ctx, serving); err != nil {
			return err
		}
		close(ready)
		return nil
	})
	group.Go(func() error { return after(ctx, serving, c.startControllerManager) })
	group.Go(func() error {
		return after(ctx, serving, func(ctx context.Context) error { return after(ctx, runtime, c.startKubelet) })
	})
	for _, start := range []func(context.Context) error{c.startLoadBalancer, c.startProxy, c.startDNS, c.startMetrics, c.startScheduler} {
		group.Go(func() error { return after(ctx, ready, start) })
	}
	return group.Wait()
}

// after runs work once the event has come.
func after(ctx context.Context, event <-chan struct{}, work func(context.Context) error) error {
	select {
	case <-event:
		return work(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *cluster) startEtcd(ctx context.Context) error {
	return c.report.step(ctx, "etcd", func(ctx context.Context) error {
		return c.startAndWait(ctx, c.programs.etcd(), etcdURL+"/health")
	})
}

// startAPIServer closes serving when the API server answers at all, and
// returns when it is ready.
func (c *cluster) startAPIServer(ctx context.Context, serving chan<- struct{}) error {
	return c.report.step(ctx, "kube-apiserver", func(ctx context.Context) error {
		p := c.programs.apiServer()
		if err := c.parts.start(p); err != nil {
			return err
		}
		ask := func(path string) func(context.Context) error {
			return func(ctx context.Context) error {
				return c.client.Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Error()
			}
		}
		if err := waitFor(ctx, "the API server to answer", ask("/livez/ping")); err != nil {
			return about(p, err)
		}
		close(serving)
		return about(p, waitFor(ctx, "the API server to be ready", ask("/readyz")))
	})
}

func (c *cluster) startProxy(ctx context.Context) error {
	return c.report.step(ctx, "kube-proxy", func(ctx context.Context) error {
		return c.startAndWait(ctx, c.programs.proxy(), "http://127.0.0.1:10256/livez")
	})
}

func (c *cluster) startScheduler(ctx context.Context) error {
	return c.report.step(ctx, "kube-scheduler", func(ctx context.Context) error {
		return c.startAndWait(ctx, c.programs.scheduler(), "https://127.0.0.1:10259/readyz")
	})
}

func (c *cluster) startLoadBalancer(ctx context.Context) error {
	return c.report.step(ctx, "LoadBalancer", func(ctx context.Context) error {
		// For as long as the cluster lives, not only while it comes up.
		if err := loadbalancer.Start(context.Background(), c.client, poolCIDR); err != nil {
			return err
		}
		return c.checkLoadBalancer(ctx)
	})
}

func (c *cluster) startControllerManager(ctx context.Context) error {
	return c.report.step(ctx, "kube-controller-manager", func(ctx context.Context) error {
		p := c.programs.controllerManager()
		if err := c.parts.start(p); err != nil {
			return err
		}
		// Pods need their namespace's service account: once it is there,
		// the controllers are at work.
		return about(p, c.waitForServiceAccount(ctx))
	})
}

func (c *cluster) startContainerd(ctx context.Context) error {
	return c.report.step(ctx, "containerd", func(ctx context.Context) error {
		p := c.programs.containerd()
		if err := c.parts.start(p); err != nil {
			return err
		}
		err := about(p, waitFor(ctx, "containerd's socket", func(ctx context.Context) error {
			return dialUnix(ctx, c.dir.Containerd("containerd.sock"))
		}))
		if err != nil {
			return err
		}
		return c.loadPause(ctx)
	})
}

// loadPause makes the image that every pod's sandbox runs, and loads it.
func (c *cluster) loadPause(ctx context.Context) error {
	tar := c.dir.Config("pause.tar")
	if err := WriteImage(tar, pauseImage, c.settings.NodeDir+"/pause"); err != nil {
		return err
	}
	if err := c.parts.run(ctx, c.programs.ctr("images", "import", tar)); err != nil {
		return fmt.Errorf("loading the pause image: %w", err)
	}
	return os.Remove(tar)
}

func (c *cluster) startKubelet(ctx context.Context) error {
	return c.report.step(ctx, "kubelet", func(ctx context.Context) error {
		p := c.programs.kubelet()
		if err := c.parts.start(p); err != nil {
			return err
		}
		return about(p, c.waitForNode(ctx))
	})
}

func (c *cluster) startDNS(ctx context.Context) error {
	return c.report.step(ctx, "DNS", func(ctx context.Context) error {
		if err := c.create(ctx, "dns.yaml"); err != nil {
			return err
		}
		p := c.programs.coreDNS()
		if err := c.parts.start(p); err != nil {
			return err
		}
		return about(p, waitFor(ctx, "an answer from "+dnsIP, askDNS))
	})
}

func (c *cluster) startMetrics(ctx context.Context) error {
	return c.report.step(ctx, "metrics-server", func(ctx context.Context) error {
		if err := c.create(ctx, "metrics.yaml"); err != nil {
			return err
		}
		p := c.programs.metricsServer()
		// By its Service: the API server goes that way too, and looks again
		// only after seconds where it finds the way closed.
		if err := c.startAndWait(ctx, p, "https://"+metricsIP+"/livez"); err != nil {
			return err
		}
		if err := c.create(ctx, "metrics-api.yaml"); err != nil {
			return err
		}
		return about(p, c.waitForAPI(ctx, "v1beta1.metrics.k8s.io"))
	})
}

func (c *cluster) create(ctx context.Context, file string) error {
	manifest, err := render(file, c.values)
	if err != nil {
		return err
	}
	return create(ctx, c.client.Discovery().RESTClient(), manifest)
}

// startAndWait starts a component and waits until its URL answers 200.
func (c *cluster) startAndWait(ctx context.Context, p component, url string) error {
	if err := c.parts.start(p); err != nil {
		return err
	}
	return about(p, waitFor(ctx, p.name+" to answer", c.get(url)))
}

// about says that an error is about a component, whose log then is shown.
func about(p component, err error) error {
	if err == nil {
		return nil
	}
	return &componentError{name: p.name, err: err}
}
