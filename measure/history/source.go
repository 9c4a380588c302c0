package history

import (
	"context"
	"fmt"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/gatemark/gatemark/kube"
)

// A source lists and watches one kind, as JSON.
type source struct {
	client   rest.Interface
	resource string
	options  Options
}

func newSource(c *kube.Client, gvk schema.GroupVersionKind, o Options) (*source, error) {
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(c.Config)
	// HTTP/1.1 gives each watch a connection of its own.
	config.NextProtos = []string{"http/1.1"}
	config.Timeout = 0
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.GroupVersion = ptr.To(gvk.GroupVersion())
	config.APIPath = "/apis"
	if gvk.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(c.Scheme()).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &source{client: client, resource: mapping.Resource.Resource, options: o}, nil
}

func (s *source) request(o metav1.ListOptions) *rest.Request {
	o.LabelSelector, o.FieldSelector = s.options.LabelSelector, s.options.FieldSelector
	return s.client.Get().NamespaceIfScoped(s.options.Namespace, s.options.Namespace != "").
		Resource(s.resource).VersionedParams(&o, metav1.ParameterCodec)
}

// watch opens a stream of events after a version. The server ends watches
// after half an hour to an hour by default; a trial may be longer.
func (s *source) watch(ctx context.Context, version string) (io.ReadCloser, error) {
	const day = 24 * 60 * 60
	return s.request(metav1.ListOptions{
		Watch: true, ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: ptr.To[int64](day),
	}).Stream(ctx)
}

type page[T any] struct {
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []T             `json:"items"`
}

// list records what there is and returns the version of the whole.
func list[T any](ctx context.Context, s *source, record func(Event[T])) (version string, err error) {
	options := metav1.ListOptions{Limit: 1000}
	for {
		data, err := s.request(options).Do(ctx).Raw()
		if err != nil {
			return "", err
		}
		at := now()
		var p page[T]
		if err := jsonv2.Unmarshal(data, &p); err != nil {
			return "", fmt.Errorf("decode the list: %w", err)
		}
		for i := range p.Items {
			record(Event[T]{Type: added, Object: &p.Items[i], At: at, Listed: true})
		}
		if p.Metadata.Continue == "" {
			return p.Metadata.ResourceVersion, nil
		}
		options.Continue = p.Metadata.Continue
	}
}
