package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gatemark/gatemark/measure/usage/reading"
)

// A remote is one sampler, as it is asked.
type remote struct {
	node, address, token string
	http                 *http.Client
	start                time.Time // of the observer, whose clock begins there

	clock            clock
	instance         string
	readings, groups int // how many are known
	paths            []reading.Group
}

// askLimit bounds one question.
const askLimit = 10 * time.Second

func (r *remote) ask(ctx context.Context, now bool) (*reading.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	at := url.URL{Scheme: "http", Host: r.address, Path: reading.ReadingsPath, RawQuery: url.Values{
		"since": {strconv.Itoa(r.readings)}, "groups": {strconv.Itoa(r.groups)},
		"instance": {r.instance}, "now": {strconv.FormatBool(now)},
	}.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	sent := time.Now()
	res, err := r.http.Do(req)
	if err != nil {
		return nil, r.wrap(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	answered := time.Now()
	if err != nil {
		return nil, r.wrap(err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, r.wrap(fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(text))))
	}
	a := new(reading.Answer)
	if err := json.Unmarshal(text, a); err != nil {
		return nil, r.wrap(err)
	}
	if a.Instance != r.instance {
		// Its clock is another one's too.
		r.instance, r.clock, r.paths = a.Instance, clock{}, nil
	}
	r.clock.asked(int64(sent.Sub(r.start)), int64(answered.Sub(r.start)), a.Now)
	return a, r.learn(a)
}

// learn takes the groups' numbers.
func (r *remote) learn(a *reading.Answer) error {
	if a.FirstGroup > len(r.paths) {
		return r.wrap(fmt.Errorf("groups %d to %d are missing in its answer", len(r.paths), a.FirstGroup))
	}
	r.paths = append(r.paths[:a.FirstGroup], a.Groups...)
	r.groups, r.readings = len(r.paths), a.First+len(a.Readings)
	for _, one := range a.Readings {
		if one.Group < 0 || one.Group >= len(r.paths) {
			return r.wrap(fmt.Errorf("it has no group %d", one.Group))
		}
	}
	return nil
}

func (r *remote) wrap(err error) error {
	// What net/http says around it is long, and known.
	var around *url.Error
	if errors.As(err, &around) {
		err = around.Err
	}
	return fmt.Errorf("sampler on node %s (%s): %w", r.node, r.address, err)
}

// newHTTP keeps one connection to each sampler.
func newHTTP(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	if dial == nil {
		dial = (&net.Dialer{Timeout: askLimit}).DialContext
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}}
}
