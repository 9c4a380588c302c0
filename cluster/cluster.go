// Package cluster is where a run takes place: a cluster that the user has, by
// its kubeconfig context, or a local one that gatemark made on this machine.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/internal/failure"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The kinds of clusters.
const (
	Local   = "local"
	Context = "context"
)

// A Cluster is one that can be reached.
type Cluster struct {
	// Kind is Local or Context.
	Kind string
	// Name is the local cluster's name, or the context's.
	Name   string
	Config *rest.Config
	// LoadImage puts an image into every node's container runtime, if it is
	// not there already.
	// It is nil where nodes can only pull.
	LoadImage func(context.Context, image.Image) error
	// AllowRealtime lets threads of a running container, by its pod's UID and its
	// ID, become real-time threads, if the pod's rights allow it. It is nil where
	// that is nobody's to say.
	AllowRealtime func(uid, container string) error
	// AuditLog is the path of the API server's audit log on the nodes, or "".
	AuditLog string
}

// FromLocal describes a local cluster that runs.
func FromLocal(c *local.Cluster) (*Cluster, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return &Cluster{Kind: Local, Name: c.Name(), Config: config, AuditLog: c.AuditLog(), AllowRealtime: c.AllowRealtime,
		LoadImage: func(ctx context.Context, img image.Image) error { return loadImage(ctx, c, img) }}, nil
}

// loadImage skips an image that is there: its name holds a key of what it was
// made from, and its digest tells the rest.
func loadImage(ctx context.Context, c *local.Cluster, img image.Image) error {
	have, err := c.Images(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(have, local.Image{Name: img.Ref, Digest: img.Digest}) {
		return nil
	}
	return c.LoadImage(ctx, img.Tar)
}

// FromKubeconfig opens a context of a kubeconfig file. Empty arguments mean
// what they mean to kubectl: $KUBECONFIG or ~/.kube/config, and its current
// context.
func FromKubeconfig(path, contextName string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, usage("read kubeconfig: %w", err)
	}
	if contextName == "" {
		contextName = raw.CurrentContext
	}
	if _, ok := raw.Contexts[contextName]; !ok {
		return nil, unknownContext(contextName, rules.GetDefaultFilename(), raw.Contexts)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, usage("context %s: %w", contextName, err)
	}
	return &Cluster{Kind: Context, Name: contextName, Config: config}, nil
}

func unknownContext[T any](name, path string, contexts map[string]T) error {
	err := fmt.Errorf("kubeconfig %s has no context %q", path, name)
	if name == "" {
		err = fmt.Errorf("kubeconfig %s has no current context", path)
	}
	if len(contexts) == 0 {
		return failure.WithCode(failure.Hint(err, "it has no contexts at all; without --context and --kubeconfig gatemark makes a local cluster"), failure.Usage)
	}
	var names []string
	for known := range contexts {
		names = append(names, known)
	}
	return failure.WithCode(failure.Hint(err, fmt.Sprintf("contexts: %q", names)), failure.Usage)
}

func usage(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	var unset error = clientcmd.ErrEmptyConfig
	if errors.Is(err, unset) {
		err = failure.Hint(err, "without --context and --kubeconfig gatemark makes a local cluster")
	}
	return failure.WithCode(err, failure.Usage)
}
