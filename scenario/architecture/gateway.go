package architecture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

// An examined Gateway is one of the two.
type examined struct {
	namespace string
	// mark is in the answers of its route.
	mark    string
	created time.Time
	// Since when: zero where it was not so within the limit. answered is any
	// HTTP answer, served one of its own route.
	programmed, answered, served time.Time
	// lacked is what was missing at the end of the limit.
	lacked    string
	addresses []string
	dataPlane
	questions []question
}

// The hosts that are asked for.
const sharedHost = "shared.gatemark.test"

func ownHost(mark string) string { return mark + ".gatemark.test" }

// leads is where a route's redirects lead.
func leads(mark string) string { return mark + "-answers.gatemark.test" }

const (
	askEvery   = 10 * time.Millisecond
	askTimeout = 2 * time.Second
	// askFor is how long each question is repeated.
	askFor = 2 * time.Second
)

// raise makes a Gateway with its route, and follows what its status says and
// what it answers, each by itself, until both are as they should be or the
// limit is over.
func (d *dissection) raise(ctx context.Context, g *examined) error {
	g.created = time.Now()
	if err := d.applyGateway(ctx, g, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d.Values.Duration("limit"))
	defer cancel()
	var saidLacking, answersLacking string
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error {
		err := d.awaitGateway(both, g, func(gw *gatewayv1.Gateway) (bool, string) {
			return kube.Current(gw.Status.Conditions, gw.Generation, string(gatewayv1.GatewayConditionAccepted), string(gatewayv1.GatewayConditionProgrammed))
		})
		if words, late := timedOut(err); late {
			saidLacking = words
			return nil
		}
		g.programmed = time.Now()
		return err
	})
	group.Go(func() (err error) {
		answersLacking, err = d.awaitAnswers(both, g)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	g.lacked = strings.Join(strings.Fields(saidLacking+" "+answersLacking), " ")
	return nil
}

func (d *dissection) applyGateway(ctx context.Context, g *examined, port int) error {
	return d.Apply(ctx, "architecture.yaml", architectureManifest, map[string]any{
		"Gateway": scenario.GatewayName, "Namespace": g.namespace, "GatewayClass": d.Target.GatewayClass, "Port": port,
		"Shared": sharedHost, "Own": ownHost(g.mark), "Leads": leads(g.mark),
	})
}

func (d *dissection) awaitGateway(ctx context.Context, g *examined, condition func(*gatewayv1.Gateway) (bool, string)) error {
	key := client.ObjectKey{Namespace: g.namespace, Name: scenario.GatewayName}
	_, err := kube.Wait(ctx, d.Kube, "gateway "+key.String(), key, condition)
	return err
}

// awaitAnswers asks a Gateway from the moment it has an address until its route
// answers. It returns what was missing when the context ended.
func (d *dissection) awaitAnswers(ctx context.Context, g *examined) (lacked string, err error) {
	err = d.awaitGateway(ctx, g, func(gw *gatewayv1.Gateway) (bool, string) {
		addresses, err := d.Addresses(gw)
		g.addresses = addresses
		if err != nil {
			return false, err.Error()
		}
		return len(g.addresses) > 0, "no address"
	})
	if words, late := timedOut(err); late {
		return words, nil
	}
	if err != nil {
		return "", err
	}
	return d.askUntil(ctx, g, scenario.ListenerPort, func(h heard) bool {
		if h.err == nil && g.answered.IsZero() {
			g.answered = time.Now()
		}
		if h.mark == g.mark {
			g.served = time.Now()
		}
		return h.mark == g.mark
	}), nil
}

// askUntil asks for the Gateway's own route until enough was heard. It returns
// what was missing when the context ended.
func (d *dissection) askUntil(ctx context.Context, g *examined, port int32, enough func(heard) bool) (lacked string) {
	last := "nothing to ask"
	for n := 0; ; n++ {
		places, err := d.places(ctx, g, port)
		if err != nil {
			last = err.Error()
		}
		if len(places) > 0 {
			h := request(ctx, places[n%len(places)], ownHost(g.mark))
			if enough(h) {
				return ""
			}
			last = "the last answer was " + h.String()
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(askEvery):
		}
	}
}

// places are where a Gateway is asked for one of its ports.
func (d *dissection) places(ctx context.Context, g *examined, port int32) ([]string, error) {
	var all []string
	if d.Values.String("ask") == "address" {
		for _, address := range g.addresses {
			all = append(all, net.JoinHostPort(address, fmt.Sprint(port)))
		}
		return all, nil
	}
	replicas, err := d.FindReplicasIn(ctx, g.namespace, port)
	for _, r := range replicas {
		if r.Serving && !r.Terminating {
			all = append(all, r.Address().String())
		}
	}
	return all, err
}

// A heard is what one request was answered with.
type heard struct {
	status int
	// mark is that of the route that answered, or "".
	mark string
	err  error
}

func (h heard) String() string {
	switch {
	case h.err != nil:
		return "none: " + h.err.Error()
	case h.mark != "":
		return "of the " + h.mark + " Gateway's route"
	default:
		return fmt.Sprintf("status %d", h.status)
	}
}

// request sends one request on a connection of its own.
func request(ctx context.Context, place, host string) heard {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+place+"/", nil)
	if err != nil {
		return heard{err: err}
	}
	req.Host = host
	asking := http.Client{
		Timeout:       askTimeout,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := asking.Do(req)
	if err != nil {
		return heard{err: err}
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16)); err != nil {
		return heard{err: err}
	}
	h := heard{status: res.StatusCode}
	if to, err := url.Parse(res.Header.Get("Location")); err == nil {
		if mark, ours := strings.CutSuffix(to.Hostname(), leads("")); ours {
			h.mark = mark
		}
	}
	return h
}

// A question is a host that a Gateway was asked for, and what answered.
type question struct {
	host string
	// own are answers of the Gateway's own route, other of the other one's;
	// neither were answers of no route, failed no answers.
	own, other, neither, failed int
}

func (q *question) count(h heard, own string) {
	switch {
	case h.err != nil:
		q.failed++
	case h.mark == own:
		q.own++
	case h.mark != "":
		q.other++
	default:
		q.neither++
	}
}

func (q question) asked() int { return q.own + q.other + q.neither + q.failed }

// interrogate asks each Gateway for what it has alone, for what both have, and
// for what the other one has, all at once.
func (d *dissection) interrogate(ctx context.Context) error {
	d.Progress("asking each Gateway for the other one's route")
	group, asking := errgroup.WithContext(ctx)
	for _, g := range []*examined{&d.first, &d.second} {
		if g.answered.IsZero() {
			continue
		}
		places, err := d.places(ctx, g, scenario.ListenerPort)
		if err != nil {
			return err
		}
		hosts := []string{ownHost(d.first.mark), ownHost(d.second.mark), sharedHost}
		g.questions = make([]question, len(hosts))
		for i, host := range hosts {
			group.Go(func() (err error) {
				g.questions[i], err = d.put(asking, g, places, host)
				return err
			})
		}
	}
	return group.Wait()
}

// put asks one question, again and again.
func (d *dissection) put(ctx context.Context, g *examined, places []string, host string) (question, error) {
	q := question{host: host}
	n := d.Values.Int("requests")
	for i := range n {
		q.count(request(ctx, places[i%len(places)], host), g.mark)
		select {
		case <-ctx.Done():
			return q, ctx.Err()
		case <-time.After(askFor / time.Duration(n)):
		}
	}
	return q, nil
}

// A portTried is a listener on an arbitrary port, from its write on.
type portTried struct {
	port int
	// Since the write; negative where not within the limit.
	programmed, answered time.Duration
	lacked               string
	// beside is the first port, asked from before the write on.
	beside question
}

// besideEvery is how often the first port is asked meanwhile.
const besideEvery = 50 * time.Millisecond

// tryPort gives the first Gateway another listener, and takes it away again.
// Its first port is asked all the while.
func (d *dissection) tryPort(ctx context.Context) error {
	d.port = portTried{port: d.Values.Int("port"), programmed: -1, answered: -1}
	d.Progress("adding a listener on port %d", d.port.port)
	meanwhile, stop := context.WithCancel(ctx)
	defer stop()
	asked := make(chan question, 1)
	go func() { asked <- d.askBeside(meanwhile) }()
	if err := d.addPort(ctx, &d.port); err != nil {
		return err
	}
	stop()
	d.port.beside = <-asked
	return d.applyGateway(ctx, &d.first, 0)
}

func (d *dissection) addPort(ctx context.Context, p *portTried) error {
	began := time.Now()
	if err := d.applyGateway(ctx, &d.first, p.port); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d.Values.Duration("limit"))
	defer cancel()
	err := d.awaitGateway(ctx, &d.first, func(gw *gatewayv1.Gateway) (bool, string) {
		ready, all, why := kube.ListenersReady(gw)
		return ready == all && all == 2, fmt.Sprintf("%d of 2 listeners programmed%s", ready, why)
	})
	if words, late := timedOut(err); late {
		p.lacked = words
		return nil
	}
	if err != nil {
		return err
	}
	p.programmed = time.Since(began)
	p.lacked = d.askUntil(ctx, &d.first, int32(p.port), func(h heard) bool {
		if h.mark == d.first.mark {
			p.answered = time.Since(began)
		}
		return p.answered >= 0
	})
	return nil
}

// askBeside asks the first Gateway's first port for its own route until the
// context ends.
func (d *dissection) askBeside(ctx context.Context) question {
	q := question{host: ownHost(d.first.mark)}
	for n := 0; ; n++ {
		places, err := d.places(ctx, &d.first, scenario.ListenerPort)
		if err == nil && len(places) == 0 {
			err = errors.New("there is no replica")
		}
		h := heard{err: err}
		if err == nil {
			h = request(ctx, places[n%len(places)], q.host)
		}
		if ctx.Err() != nil { // what was under way was cut by us
			return q
		}
		q.count(h, d.first.mark)
		select {
		case <-ctx.Done():
			return q
		case <-time.After(besideEvery):
		}
	}
}
