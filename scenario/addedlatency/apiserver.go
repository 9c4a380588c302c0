package addedlatency

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

//go:embed apiserver.yaml
var apiServerManifest string

const (
	// apiHost is a name that every kube-apiserver's certificate has.
	apiHost = "kubernetes.default.svc"
	// objects is how many ConfigMaps are asked for in turn, and text what is in
	// each.
	objects = 50
	text    = "what is measured is the way, not the object"
	// feature and kind of what encrypts again behind the gateway.
	reencryption = "BackendTLSPolicy"
)

// apiServer has the cluster's own kube-apiserver behind the gateway, or behind
// any proxy at a URL.
type apiServer struct {
	*trial
	// config is how the runner itself asks it.
	config *rest.Config
	// servers are its endpoints.
	servers []string
	// proxy is where requests go that do not go straight, in place of the gateway.
	proxy *url.URL
	// serving is the certificate that the gateway shows where it ends TLS.
	serving scenario.KeyPair
	client  identity
	turns   int
}

func (a *apiServer) prepare(ctx context.Context) (err error) {
	if a.config, err = ownConfig(a.Kube.Config); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if a.servers, err = a.findServers(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if target := a.Values.String("target"); target != "" {
		if a.proxy, err = url.Parse(target); err != nil {
			return scenario.Invalid{Reason: err} // check has seen it
		}
		if err = a.behindProxy(ctx); err != nil {
			return err
		}
	} else if err = a.behindGateway(ctx); err != nil {
		return err
	}
	a.Progress("getting credentials of the client")
	if a.client, err = a.identify(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return a.waitServed(ctx)
}

// ownConfig has the authority of the API server's certificate at hand.
func ownConfig(c *rest.Config) (*rest.Config, error) {
	own := rest.CopyConfig(c)
	if err := rest.LoadTLSFiles(own); err != nil {
		return nil, fmt.Errorf("read the API server's certificate authority: %w", err)
	}
	return own, nil
}

// findServers are the API servers that the cluster knows, or the one that is
// asked here where it knows none.
func (a *apiServer) findServers(ctx context.Context) ([]string, error) {
	var known discoveryv1.EndpointSliceList
	err := a.Kube.List(ctx, &known, client.InNamespace(corev1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"})
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	var all []string
	for _, s := range known.Items {
		for _, e := range s.Endpoints {
			for _, p := range s.Ports {
				if s.AddressType == discoveryv1.AddressTypeIPv4 && p.Port != nil {
					all = append(all, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*p.Port))))
				}
			}
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		return all, nil
	}
	at, _, err := rest.DefaultServerUrlFor(a.config)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	return []string{net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), "443"))}, nil
}

// reencrypts reports whether the gateway ends TLS and begins it anew. A client's
// certificate only comes through where it does not.
func (a *apiServer) reencrypts() bool { return a.Values.String("auth") != byCertificate }

// behindGateway sets the stage, and has a route lead to the API server.
func (a *apiServer) behindGateway(ctx context.Context) (err error) {
	if d := a.Target.Dialect; d != nil {
		return scenario.Unsupported{Reason: fmt.Errorf("a route to the kube-apiserver needs the Gateway API, and %s is told its routes by %s", a.Target.Treatment, d.Name)}
	}
	listener, kind, version := scenario.Listener{Name: "tls", Passthrough: true}, scenario.TLSRoute, ""
	policy := ""
	if a.reencrypts() {
		listener, kind, version = scenario.Listener{Name: "https", Secret: "serving"}, scenario.HTTPRoute, "v1"
		if policy, err = a.SupportedVersion(ctx, reencryption, reencryption); err != nil {
			return err
		}
		if err := a.makeServing(ctx); err != nil {
			return scenario.Invalid{Reason: err}
		}
	} else {
		if err := a.FindRoute(ctx, scenario.RouteOf(map[string]any{scenario.RouteParameter.Name: kind})); err != nil {
			return err
		}
		version = a.RouteVersion()
	}
	stage, err := a.SetStage(ctx, scenario.Backends{Pods: 1}, listener)
	if err != nil {
		return err
	}
	if a.Place, err = attack.New(ctx, a.Trial); err != nil {
		return err
	}
	if a.Gateway, err = a.Through(ctx, stage.Replicas[0], listener.Port()); err != nil {
		return err
	}
	return a.apply(ctx, map[string]any{"Gateway": true, "Kind": kind, "RouteVersion": version, "PolicyVersion": policy})
}

// behindProxy needs neither a Gateway nor a backend.
func (a *apiServer) behindProxy(ctx context.Context) (err error) {
	if a.Place, err = attack.New(ctx, a.Trial); err != nil {
		return err
	}
	a.Gateway = net.JoinHostPort(a.proxy.Hostname(), cmp.Or(a.proxy.Port(), map[string]string{"http": "80", "https": "443"}[a.proxy.Scheme]))
	return a.apply(ctx, map[string]any{"Gateway": false})
}

func (a *apiServer) apply(ctx context.Context, data map[string]any) error {
	data["Namespace"], data["User"], data["Host"], data["Text"] = a.Namespace, a.user(), apiHost, text
	var names []string
	for i := range objects {
		names = append(names, objectName(i))
	}
	data["Objects"] = names
	var addresses []string
	kind := discoveryv1.AddressTypeIPv4
	for _, s := range a.servers {
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
		if ip, err := netip.ParseAddr(host); err != nil || ip.IsLoopback() {
			kind = discoveryv1.AddressTypeFQDN // no other kind takes a loopback address
		}
		addresses = append(addresses, host)
		data["Port"] = port
	}
	data["Addresses"], data["AddressType"] = addresses, kind
	if err := a.Apply(ctx, "apiserver.yaml", apiServerManifest, data); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return nil
}

func objectName(i int) string { return fmt.Sprintf("object-%02d", i) }

// makeServing makes the certificate of the listener that ends TLS.
func (a *apiServer) makeServing(ctx context.Context) (err error) {
	if a.serving, err = scenario.NewKeyPair(apiHost); err != nil {
		return err
	}
	return kube.Create(ctx, a.Kube, a.Secret("serving", a.serving))
}

// base is the URL of one way's requests, without a path.
func (a *apiServer) base(w way) string {
	if w == gateway && a.proxy != nil {
		return strings.TrimSuffix(a.proxy.String(), "/")
	}
	return "https://" + apiHost
}

// security is TLS's part of one way.
func (a *apiServer) security(w way) load.TLSOptions {
	o := load.TLSOptions{CA: a.config.CAData, Insecure: a.config.Insecure}
	switch {
	case w == gateway && a.proxy != nil:
		o = load.TLSOptions{Insecure: true} // whose certificate it is, nobody said
	case w == gateway && a.reencrypts():
		o.CA = []byte(a.serving.Certificate)
	}
	o.Certificate, o.Key = a.client.certificate, a.client.key
	return o
}

func (a *apiServer) path() string { return "/api/v1/namespaces/" + a.Namespace + "/configmaps" }

// fromCache has the API server answer from its own memory, so that etcd is not
// measured.
const fromCache = "?resourceVersion=0"

func (a *apiServer) aim(ctx context.Context, w way, o *load.Options) error {
	o.TLS = a.security(w)
	tokens := []string{a.client.token}
	if a.Values.String("auth") == byFreshToken {
		var err error
		if tokens, err = a.tokens(ctx, int(o.Rate.Duration().Seconds()*float64(a.rate))+1); err != nil {
			return err
		}
	}
	places := []string{a.Gateway}
	if w != gateway {
		places = a.servers[:min(len(a.servers), o.Connections/a.Values.Int("attackers"))]
	}
	a.turns++
	for i, token := range tokens {
		target := a.request(w, i, len(tokens) > 1)
		target.Connect = places[i%len(places)]
		if token != "" {
			target.Header = append(target.Header, load.Field{Name: "Authorization", Value: "Bearer " + token})
		}
		o.Targets = append(o.Targets, target)
	}
	for _, place := range places[min(len(tokens), len(places)):] {
		target := o.Targets[0]
		target.Connect = place
		o.Targets = append(o.Targets, target)
	}
	return nil
}

// request is the i-th target of a measurement. One target stands for all
// objects, many for one each.
func (a *apiServer) request(w way, i int, many bool) load.Target {
	t := load.Target{Header: []load.Field{{Name: "Accept", Value: "application/json"}}, Expect: load.Expect{Status: http.StatusOK, Body: -1}}
	switch {
	case a.Values.String("verb") == "create":
		t.URL, t.Method, t.Expect.Status = a.base(w)+a.path(), http.MethodPost, http.StatusCreated
		t.Header = append(t.Header, load.Field{Name: "Content-Type", Value: "application/json"})
		t.Body = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"created-%d-%s"},"data":{"text":%q}}`, a.turns, load.Number, text)
	case many:
		t.URL = a.base(w) + a.path() + "/" + objectName(i%objects) + fromCache
	default:
		t.URL = a.base(w) + a.path() + fmt.Sprintf("/object-{00..%02d}", objects-1) + fromCache
	}
	return t
}

// String implements upstream.
func (a *apiServer) String() string {
	return fmt.Sprintf("the kube-apiserver at %s (%s ConfigMaps, by %s)", strings.Join(a.servers, ", "), a.Values.String("verb"), a.Values.String("auth"))
}
