package scenario

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/measure/probe"
)

// An Asker asks replicas single questions, on connections that it keeps.
type Asker struct {
	targets []probe.Target
	clients []*http.Client
}

// askWorkers ask in parallel: enough to be quick, few enough to be no load.
const askWorkers = 4

// askLimit is how long an answer may take.
const askLimit = 5 * time.Second

// Asker asks the replicas of the stage, as they are now.
func (s *Stage) Asker() *Asker { return newAsker(s.Targets()) }

// AskerOf asks one replica.
func AskerOf(r kube.Replica) *Asker {
	return newAsker((&Stage{Replicas: []kube.Replica{r}}).Targets())
}

func newAsker(targets []probe.Target) *Asker {
	a := &Asker{targets: targets}
	for range targets {
		a.clients = append(a.clients, &http.Client{Timeout: askLimit, Transport: &http.Transport{
			MaxIdleConnsPerHost: askWorkers, DialContext: (&net.Dialer{Timeout: askLimit}).DialContext,
		}})
	}
	return a
}

// Close ends the connections.
func (a *Asker) Close() {
	for _, c := range a.clients {
		c.CloseIdleConnections()
	}
}

// All puts every question to every replica once. each is told what was wrong
// with the answer, or "", never twice at once.
func (a *Asker) All(ctx context.Context, questions []Expectation, each func(i int, replica, wrong string)) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askWorkers)
	for at, target := range a.targets {
		for i, e := range questions {
			group.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				wrong := a.ask(ctx, at, e)
				mu.Lock()
				defer mu.Unlock()
				each(i, target.Name, wrong)
				return nil
			})
		}
	}
	return group.Wait()
}

// ask returns what was wrong with the answer, or "".
func (a *Asker) ask(ctx context.Context, at int, e Expectation) string {
	if e.Serial != "" {
		return a.askSecurely(ctx, at, e)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.targets[at].Address.String()+"/", nil)
	if err != nil {
		return err.Error()
	}
	req.Host = e.Host
	res, err := a.clients[at].Do(req)
	if err != nil {
		return "no answer"
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return "cut answer"
	}
	return e.wrong(res)
}

// askSecurely is ask over TLS.
func (a *Asker) askSecurely(ctx context.Context, at int, e Expectation) string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", a.targets[at].Address.String())
	if err != nil {
		return "no answer"
	}
	defer plain.Close()
	if tcp, ok := plain.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // so that ports last
	}
	deadline, _ := ctx.Deadline()
	// Whose certificate it is, is looked at here; nobody has signed it.
	conn := tls.Client(plain, &tls.Config{ServerName: e.Host, InsecureSkipVerify: true})
	if plain.SetDeadline(deadline) != nil || conn.HandshakeContext(ctx) != nil {
		return "no handshake"
	}
	if shown := conn.ConnectionState().PeerCertificates; shown[0].SerialNumber.Text(16) != e.Serial {
		return "shown another certificate"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+e.Host+"/", nil)
	if err != nil {
		return err.Error()
	}
	req.Close = true
	if err := req.Write(conn); err != nil {
		return "no answer"
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return "no answer"
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return "cut answer"
	}
	return e.wrong(res)
}

// wrong says what is wrong with a whole answer, or "".
func (e *Expectation) wrong(res *http.Response) string {
	has := res.Header.Get
	switch {
	case e.Gone && res.StatusCode == http.StatusNotFound:
		return ""
	case e.Gone && has(marker.RouteHeader) != "":
		return "answered by a route that is deleted"
	case res.StatusCode != http.StatusOK:
		return fmt.Sprintf("status %d", res.StatusCode)
	case has(marker.RouteHeader) != e.Want.Route:
		return "answered by another route"
	case e.Want.Generation > 0 && has(marker.GenerationHeader) != strconv.FormatInt(e.Want.Generation, 10):
		return "answered by an old version of the route"
	case e.Want.Pod != "" && has(marker.PodHeader) != e.Want.Pod:
		return "answered by a pod that is no endpoint any more"
	}
	return ""
}
