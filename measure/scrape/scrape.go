package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/history"
)

// A Target is an endpoint that each pod of a role has.
type Target struct {
	Role string
	// Namespace and Selector, a label selector, find the pods.
	Namespace, Selector string
	Port                int
	Path                string
}

// Options say what to scrape.
type Options struct {
	Kube    *kube.Client
	Targets []Target
	// Interval is from one scrape to the next. It must be positive.
	Interval time.Duration
	// Dial opens connections to pods. nil dials from here.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// A Scrape is one answer of one pod, or the lack of one.
type Scrape struct {
	// Round numbers the scrapes of all pods that belong together.
	Round     int
	At        time.Time
	Role, Pod string
	Numbers
	// Bytes is the answer's length. Fetch is how long it took to arrive, Parse to
	// read.
	Bytes        int
	Fetch, Parse time.Duration
	Err          error
}

// scrapeLimit bounds one scrape, as Prometheus does by default.
const scrapeLimit = 10 * time.Second

// answerLimit bounds an answer's length.
const answerLimit = 256 << 20

// A Scraper scrapes until it is stopped.
type Scraper struct {
	options Options
	http    *http.Client
	cancel  context.CancelFunc
	done    sync.WaitGroup
	watches []*history.Watcher
	turn    sync.Mutex // of a round
	rounds  int

	mu      sync.Mutex
	pods    map[string]place // by UID
	scrapes []Scrape
}

type place struct {
	target  int
	pod, ip string
}

// pod is what is decoded of one.
type pod struct {
	history.Partial
	Status struct {
		PodIP string          `json:"podIP"`
		Phase corev1.PodPhase `json:"phase"`
	} `json:"status"`
}

// Start begins to scrape. It returns when the pods are known.
func Start(ctx context.Context, o Options) (*Scraper, error) {
	if o.Interval <= 0 {
		return nil, errors.New("a scrape interval must be positive")
	}
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: scrapeLimit}).DialContext
	}
	s := &Scraper{options: o, pods: map[string]place{}, http: &http.Client{
		Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
	}}
	ctx, s.cancel = context.WithCancel(ctx)
	for i, target := range o.Targets {
		h, err := history.Start(ctx, o.Kube, corev1.SchemeGroupVersion.WithKind("Pod"),
			history.Options{Namespace: target.Namespace, LabelSelector: target.Selector},
			func(e history.Event[pod]) { s.note(i, e) })
		if err != nil {
			s.cancel()
			return nil, fmt.Errorf("find what to scrape of the %s: %w", target.Role, err)
		}
		s.watches = append(s.watches, h)
	}
	s.done.Go(func() { s.follow(ctx) })
	return s, nil
}

func (s *Scraper) note(target int, e history.Event[pod]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := e.Object
	if e.Type == watch.Deleted || p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" {
		delete(s.pods, p.Metadata.UID)
		return
	}
	s.pods[p.Metadata.UID] = place{target, p.Metadata.Namespace + "/" + p.Metadata.Name, p.Status.PodIP}
}

func (s *Scraper) follow(ctx context.Context) {
	ticker := time.NewTicker(s.options.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.Now(ctx)
		}
	}
}

// Now scrapes every pod once: a window's edges need numbers of their own.
func (s *Scraper) Now(ctx context.Context) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.rounds++
	s.mu.Lock()
	var places []place
	for _, p := range s.pods {
		places = append(places, p)
	}
	s.mu.Unlock()
	// One after the other: all at once would be a load of its own.
	for _, p := range places {
		one := s.scrape(ctx, p)
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		s.scrapes = append(s.scrapes, one)
		s.mu.Unlock()
	}
}

func (s *Scraper) scrape(ctx context.Context, p place) Scrape {
	target := s.options.Targets[p.target]
	one := Scrape{Round: s.rounds, At: time.Now(), Role: target.Role, Pod: p.pod}
	text, err := s.fetch(ctx, url.URL{Scheme: "http", Host: net.JoinHostPort(p.ip, strconv.Itoa(target.Port)), Path: target.Path})
	one.Fetch, one.Bytes = time.Since(one.At), len(text)
	if err == nil {
		began := time.Now()
		one.Numbers, err = Parse(strings.NewReader(text))
		one.Parse = time.Since(began)
	}
	if err != nil {
		one.Err = fmt.Errorf("scrape pod %s, port %d: %w", p.pod, target.Port, err)
	}
	return one
}

func (s *Scraper) fetch(ctx context.Context, from url.URL) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	res, err := s.http.Do(req)
	if err != nil {
		var around *url.Error
		if errors.As(err, &around) {
			err = around.Err
		}
		return "", err
	}
	defer res.Body.Close()
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(res.Body, answerLimit+1))
	switch {
	case err != nil:
		return "", err
	case res.StatusCode != http.StatusOK:
		return "", errors.New(res.Status)
	case n > answerLimit:
		return "", fmt.Errorf("more than %d bytes", answerLimit)
	}
	return text.String(), nil
}

// Stop ends the scraping and returns all scrapes, in their order.
func (s *Scraper) Stop() []Scrape {
	s.cancel()
	s.done.Wait()
	for _, h := range s.watches {
		h.Stop()
	}
	s.http.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scrapes
}
