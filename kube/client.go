package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/internal/build"
	"github.com/gatemark/gatemark/internal/failure"
)

// UserAgent begins the name of gatemark's requests in a cluster's audit log.
const UserAgent = "gatemark/"

// A Client speaks to one cluster. The embedded client reads and writes typed
// objects of Scheme (in protobuf where the API server can), unstructured ones
// and bare metadata, without a cache, and watches them.
type Client struct {
	client.WithWatch
	// Config is what the other fields were made from.
	Config *rest.Config
	// Clientset reaches what the typed client cannot: pod logs.
	Clientset kubernetes.Interface
	// Metadata lists and deletes objects of any kind by their labels.
	Metadata  metadata.Interface
	Discovery discovery.DiscoveryInterfaceWithContext
	// Version is the API server's.
	Version version.Info
}

// An Option changes how New connects.
type Option func(*options)

type options struct {
	qps     float32
	burst   int
	agent   string
	patient time.Duration
}

// QPS sets a limit on requests a second, with a burst, on this side. There is
// none by default: the API server's priority and fairness is the limit, and a
// limiter here would delay writes after their t0 was taken.
func QPS(qps float32, burst int) Option {
	return func(o *options) { o.qps, o.burst = qps, burst }
}

// Agent adds a name to the user agent, so that the parts of gatemark can be
// told apart in an audit log.
func Agent(name string) Option {
	return func(o *options) { o.agent += " (" + name + ")" }
}

// Patience sets how long New tries to reach the API server: 10 s by default.
func Patience(d time.Duration) Option {
	return func(o *options) { o.patient = d }
}

// New connects to a cluster and asks its API server for its version, so that a
// cluster that cannot be reached is told here and not by the first write. The
// error names the host and says how long New tried.
func New(ctx context.Context, config *rest.Config, opts ...Option) (*Client, error) {
	o := options{qps: -1, agent: UserAgent + build.Current().Version, patient: 10 * time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.UserAgent = o.qps, o.burst, o.agent
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandlerWithContext = rest.NoWarnings{}
	}
	c, err := connect(config)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster at %s: %w", config.Host, err)
	}
	if err := c.greet(ctx, o.patient); err != nil {
		return nil, err
	}
	return c, nil
}

func connect(config *rest.Config) (*Client, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &Client{Config: config}
	if c.WithWatch, err = client.NewWithWatch(config, client.Options{
		HTTPClient: httpClient, Scheme: scheme, FieldOwner: FieldManager,
	}); err != nil {
		return nil, err
	}
	if c.Clientset, err = kubernetes.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, err
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient); err != nil {
		return nil, err
	}
	if c.Discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, httpClient); err != nil {
		return nil, err
	}
	return c, nil
}

// greet asks for the version until the API server answers: one that is just
// starting refuses connections, or answers 503, for a while.
func (c *Client) greet(ctx context.Context, patience time.Duration) error {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var cause error
	for {
		v, err := c.Discovery.ServerVersionWithContext(ctx)
		if err == nil {
			c.Version = *v
			return nil
		}
		// That the last try ran out of time says less than why others failed.
		if cause == nil || ctx.Err() == nil {
			cause = err
		}
		if !mayPass(err) {
			return c.unreachable(cause, time.Since(started))
		}
		select {
		case <-ctx.Done():
			return c.unreachable(cause, time.Since(started))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func mayPass(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err)
	}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return false
	}
	var connection *net.OpError
	return errors.As(err, &connection) || errors.Is(err, context.DeadlineExceeded)
}

func (c *Client) unreachable(err error, took time.Duration) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		err = fmt.Errorf("cluster at %s refuses us: %w", c.Config.Host, err)
		return failure.Hint(err, "check the user and token of this kubeconfig context: kubectl auth whoami")
	}
	// The request's URL repeats the host, and hides the cause behind it.
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	err = fmt.Errorf("cannot reach the cluster at %s (tried for %s): %w", c.Config.Host, seconds(took), err)
	return failure.Hint(err, "check that the cluster runs and that this is the kubeconfig context you mean; `gatemark up` makes a local cluster")
}

// Scheme knows the kinds that gatemark reads and writes as Go types.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range knownKinds {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
