package attacker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/load"
)

// A Member is one attacker of a fleet.
type Member struct {
	Name string
	// Node is the machine that it runs on, if that is known. Attackers of one
	// node share its processors.
	Node string
	// Address is its server's, host:port.
	Address string
}

// A remote is a member, and the way to it.
type remote struct {
	Member
	http     *http.Client
	token    string
	patience time.Duration
	instance string // from the greeting on
	cpus     int
}

// A call is one request.
type call struct {
	doing, method, path string
	query               url.Values
	in                  any
	// patience is how long it may take beyond the remote's.
	patience time.Duration
	limit    int64 // of the answer
}

// do asks, and decodes the answer. Without an answer the attacker is lost. One
// that refuses is not.
func (r *remote) do(ctx context.Context, c call, out any) error {
	bounded, cancel := context.WithTimeout(ctx, r.patience+c.patience)
	defer cancel()
	res, err := r.send(bounded, c)
	if err == nil {
		defer res.Body.Close()
		err = r.recognize(res)
	}
	if err == nil && res.StatusCode != http.StatusOK {
		return r.refused(c, res)
	}
	if err == nil {
		err = decode(res.Body, max(c.limit, smallBody), out)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("attacker %s: %s: %w", r.Name, c.doing, context.Cause(ctx))
	}
	if bounded.Err() != nil {
		err = fmt.Errorf("no answer within %v: %w", r.patience+c.patience, err)
	}
	return &ErrLost{Attacker: r.Name, Node: r.Node, During: c.doing, Err: err}
}

func (r *remote) send(ctx context.Context, c call) (*http.Response, error) {
	var body io.Reader
	if c.in != nil {
		text, err := json.Marshal(c.in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	at := url.URL{Scheme: "http", Host: r.Address, Path: c.path, RawQuery: c.query.Encode()}
	req, err := http.NewRequestWithContext(ctx, c.method, at.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := r.http.Do(req)
	// What net/http says around it is long, and known.
	var around *url.Error
	if errors.As(err, &around) {
		err = fmt.Errorf("%s: %w", r.Address, around.Err)
	}
	return res, err
}

var errRestarted = errors.New("it was restarted, and has forgotten what it did")

// recognize holds an answer to the instance that was greeted.
func (r *remote) recognize(res *http.Response) error {
	switch instance := res.Header.Get(instanceHeader); {
	case instance == "":
		return fmt.Errorf("no attacker answers there: %s", res.Status)
	case r.instance == "":
		r.instance = instance
	case r.instance != instance:
		return errRestarted
	}
	return nil
}

func (r *remote) refused(c call, res *http.Response) error {
	var why refusal
	if err := decode(res.Body, smallBody, &why); err != nil {
		why.Error = res.Status
	}
	err := fmt.Errorf("attacker %s: %s: %s", r.Name, c.doing, why.Error)
	if res.StatusCode == http.StatusUnauthorized {
		err = failure.Hint(err, "attackers answer to the token that they were started with")
	}
	return err
}

func (r *remote) readClock(ctx context.Context) (int64, error) {
	var now reading
	err := r.do(ctx, call{doing: "read its clock", method: http.MethodGet, path: clockPath}, &now)
	return now.Now, err
}

// state answers after wait, or when the attack has ended.
func (r *remote) state(ctx context.Context, wait time.Duration) (state, error) {
	var st state
	query := url.Values{"wait": {strconv.FormatFloat(wait.Seconds(), 'f', -1, 64)}}
	err := r.do(ctx, call{doing: "ask for its state", method: http.MethodGet, path: statePath, query: query, patience: wait}, &st)
	return st, err
}

// greet learns which instance answers, and what it can do.
func (r *remote) greet(ctx context.Context) error {
	st, err := r.state(ctx, 0)
	r.cpus = st.CPUs
	return err
}

// shipping is how long a result may be on its way.
const shipping = time.Minute

// prepare takes long: names are resolved and connections opened, which may take
// as long as the attack's own timeout.
func (r *remote) prepare(ctx context.Context, id string, o load.Options) error {
	var st state
	err := r.do(ctx, call{
		doing: "prepare", method: http.MethodPost, path: preparePath, in: prepareRequest{id, o}, patience: 2*r.patience + 2*o.Timeout,
	}, &st)
	if err == nil && (st.Attack != id || st.Phase != prepared) {
		err = fmt.Errorf("attacker %s: prepare: attack %q is %s", r.Name, st.Attack, st.Phase)
	}
	return err
}

func (r *remote) start(ctx context.Context, id string, at int64) error {
	return r.tell(ctx, "start", startPath, startRequest{id, at})
}

func (r *remote) mark(ctx context.Context, id, window string, at time.Duration) error {
	return r.tell(ctx, "mark window "+strconv.Quote(window), markPath, markRequest{id, window, at})
}

func (r *remote) stop(ctx context.Context, id string) error {
	return r.tell(ctx, "stop", stopPath, stopRequest{id})
}

func (r *remote) tell(ctx context.Context, doing, path string, in any) error {
	var st state
	return r.do(ctx, call{doing: doing, method: http.MethodPost, path: path, in: in}, &st)
}

func (r *remote) result(ctx context.Context, id string) (*load.Result, error) {
	var got resultAnswer
	err := r.do(ctx, call{
		doing: "fetch its result", method: http.MethodGet, path: resultPath, query: url.Values{"attack": {id}}, patience: shipping, limit: resultBody,
	}, &got)
	if err == nil && (got.Attack != id || got.Result == nil) {
		err = fmt.Errorf("attacker %s: fetch its result: got that of attack %q", r.Name, got.Attack)
	}
	return got.Result, err
}

// reset takes as long as the attack's last answers.
func (r *remote) reset(ctx context.Context) error {
	var st state
	return r.do(ctx, call{doing: "reset", method: http.MethodPost, path: resetPath, patience: shipping}, &st)
}
