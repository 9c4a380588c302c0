package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"helm.sh/helm/v4/pkg/action"
	helmkube "helm.sh/helm/v4/pkg/kube"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/gatemark/gatemark/kube"
)

// getter hands Helm a connection that we have already.
type getter struct {
	config    *rest.Config
	namespace string
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
}

func newGetter(config *rest.Config, namespace string) (*getter, error) {
	uncached, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(uncached)
	return &getter{config: config, namespace: namespace, discovery: cached, mapper: restmapper.NewDeferredDiscoveryRESTMapper(cached)}, nil
}

func (g *getter) ToRESTConfig() (*rest.Config, error) { return g.config, nil }

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader is where Helm asks for the namespace.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, overrides)
}

// helm returns Helm's configuration for releases in a namespace.
func helm(config *rest.Config, namespace string) (*action.Configuration, error) {
	g, err := newGetter(config, namespace)
	if err != nil {
		return nil, err
	}
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := cfg.Init(g, namespace, "secret"); err != nil {
		return nil, fmt.Errorf("preparing Helm: %w", err)
	}
	return cfg, nil
}

// installRelease runs Helm, which waits for the chart's hooks and leaves the
// other waiting to us.
func (in *installation) installRelease(ctx context.Context, r *release, update func(string, ...any)) error {
	cfg, err := helm(in.client.Config, in.impl.Release.Namespace)
	if err != nil {
		return err
	}
	install := action.NewInstall(cfg)
	install.ReleaseName = r.name
	install.Namespace = in.impl.Release.Namespace
	install.Labels = in.labels(in.impl.Part())
	install.SkipCRDs = true // prepare has applied them
	install.WaitStrategy = helmkube.HookOnlyStrategy
	install.WaitOptions = []helmkube.WaitOption{helmkube.WithWaitContext(ctx)}
	install.Timeout = in.deadline()
	install.PostRenderer = labeller(in.labels(in.impl.Part()))
	update("hooks and objects")
	started := time.Now()
	// Helm would go on in the background when its context ends. The waits
	// end with ours, and the rest is brief.
	_, err = install.RunWithContext(context.WithoutCancel(ctx), r.Chart, r.values)
	if err == nil {
		return in.awaitDefinitions(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	words, _ := in.podWords(in.impl.Release.Namespace, nil)
	err = fmt.Errorf("chart %s %s, after %s: %w", r.Name(), r.Metadata.Version, time.Since(started).Round(100*time.Millisecond), err)
	if words != "" {
		err = fmt.Errorf("%w; %s", err, words)
	}
	return err
}

// labeller is a post-renderer that labels every object of a chart.
type labeller map[string]string

func (l labeller) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	objects, err := kube.Decode(rendered)
	if err != nil {
		return nil, err
	}
	out := &bytes.Buffer{}
	for _, obj := range objects {
		own(obj, l)
		data, err := yaml.Marshal(obj.Object)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(data)
	}
	return out, nil
}

// deleteRelease uninstalls a release. Helm leaves the objects of hooks
// behind; they carry our labels.
func deleteRelease(ctx context.Context, config *rest.Config, namespace, name string) error {
	cfg, err := helm(config, namespace)
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(cfg)
	uninstall.IgnoreNotFound = true
	uninstall.WaitStrategy = helmkube.HookOnlyStrategy
	uninstall.WaitOptions = []helmkube.WaitOption{helmkube.WithWaitContext(ctx)}
	uninstall.DeletionPropagation = "background"
	if deadline, ok := ctx.Deadline(); ok {
		uninstall.Timeout = time.Until(deadline)
	}
	if _, err := uninstall.Run(name); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return fmt.Errorf("uninstalling release %s/%s: %w", namespace, name, err)
	}
	return nil
}

// findRelease returns the last record of a release; nil if there is none.
func findRelease(config *rest.Config, namespace, name string) (*releasev1.Release, error) {
	cfg, err := helm(config, namespace)
	if err != nil {
		return nil, err
	}
	found, err := cfg.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for release %s/%s: %w", namespace, name, err)
	}
	typed, ok := found.(*releasev1.Release)
	if !ok {
		return nil, fmt.Errorf("release %s/%s has a record of another Helm: %T", namespace, name, found)
	}
	return typed, nil
}
