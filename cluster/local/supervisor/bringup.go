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
	group.Go(func() error { return c.startEtcd(ctx) })
	group.Go(func() error { return c.startAPIServer(ctx) })
	if err := group.Wait(); err != nil {
		return err
	}
	return c.startControllerManager(ctx, c.report)
}

// startNode starts everything, what does not wait for each other at once.
func (c *cluster) startNode(ctx context.Context) error {
	outer := ctx
	group, ctx := errgroup.WithContext(ctx)
	runtime := make(chan struct{})
	group.Go(func() error { return c.startEtcd(ctx) })
	group.Go(func() error {
		defer close(runtime)
		return c.startContainerd(ctx)
	})
	group.Go(func() error {
		if err := c.startAPIServer(ctx); err != nil {
			return err
		}
		return c.startRest(ctx, runtime)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return c.report.step(outer, "LoadBalancer check", c.checkLoadBalancer)
}

// startRest starts what needs the API server.
func (c *cluster) startRest(ctx context.Context, runtime <-chan struct{}) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		<-runtime
		return c.startKubelet(ctx)
	})
	group.Go(func() error { return c.startControllerManager(ctx, c.report) })
	group.Go(func() error {
		return c.report.step(ctx, "kube-proxy", func(ctx context.Context) error {
			return c.startAndWait(ctx, c.programs.proxy(), "http://127.0.0.1:10256/livez")
		})
	})
	group.Go(func() error { return c.startDNS(ctx) })
	group.Go(func() error { return c.startMetrics(ctx) })
	group.Go(func() error {
		return c.report.step(ctx, "kube-scheduler", func(ctx context.Context) error {
			return c.parts.start(c.programs.scheduler())
		})
	})
	group.Go(func() error {
		// For as long as the cluster lives, not only while it comes up.
		return loadbalancer.Start(context.Background(), c.client, poolCIDR)
	})
	return group.Wait()
}

func (c *cluster) startEtcd(ctx context.Context) error {
	return c.report.step(ctx, "etcd", func(ctx context.Context) error {
		return c.startAndWait(ctx, c.programs.etcd(), etcdURL+"/health")
	})
}

func (c *cluster) startAPIServer(ctx context.Context) error {
	return c.report.step(ctx, "kube-apiserver", func(ctx context.Context) error {
		p := c.programs.apiServer()
		if err := c.parts.start(p); err != nil {
			return err
		}
		return about(p, waitFor(ctx, "the API server to be ready", func(ctx context.Context) error {
			return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		}))
	})
}

func (c *cluster) startControllerManager(ctx context.Context, r *reporter) error {
	return r.step(ctx, "kube-controller-manager", func(ctx context.Context) error {
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
	if err := writePauseImage(c.settings.NodeDir+"/pause", tar); err != nil {
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
		if err := c.startAndWait(ctx, p, "https://"+nodeIP+":4443/livez"); err != nil {
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
