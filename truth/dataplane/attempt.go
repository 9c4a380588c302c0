package dataplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// quiet takes what the reverse proxy would log: its errors come back as
// statuses.
var quiet = log.New(io.Discard, "", 0)

// bodyLimit is the longest body, in bytes, that is kept to be sent again. A
// request with a longer one is tried once.
const bodyLimit = 1 << 20

// dialLimit bounds how many endpoints are tried that take no connection:
// nothing was sent to them, so that trying another is always safe.
const dialLimit = 3

// attempts is a transport that sends a request as often as its rule says.
type attempts struct {
	replica *Replica
	rule    *rule
	to      *target
	changed *error
}

func (a attempts) RoundTrip(request *http.Request) (*http.Response, error) {
	if *a.changed != nil {
		return nil, *a.changed
	}
	f := a.replica.options.Faults.Now()
	again, err := replayable(request, f.Retries(a.rule.retry.attempts))
	if err != nil {
		return nil, err
	}
	for left, dials := again, 1; ; {
		response, err := a.once(request)
		failed := err != nil || a.rule.retry.again(response.StatusCode) || f.Masks(response.StatusCode)
		switch {
		case !failed || request.Context().Err() != nil:
			return response, err
		case undialled(err) && dials < min(dialLimit, len(a.to.backend.Endpoints)):
			dials++
			continue
		case left == 0:
			return response, err
		}
		left--
		if again > a.rule.retry.attempts {
			a.replica.wrong.injected.Add("maskingRetries")
		}
		if response != nil {
			// Only a drained connection can be used again; whether it can does
			// not matter to the request.
			_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
			response.Body.Close()
		}
		if err := pause(request.Context(), a.rule.retry.backoff); err != nil {
			return nil, err
		}
	}
}

// undialled tells whether nothing can have been sent.
func undialled(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "dial"
}

// once sends a request to the endpoint whose turn it is.
func (a attempts) once(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	limit := after(a.rule.backendRequest, func() { cancel(errTimeout) })
	out := request.Clone(ctx)
	endpoint := a.endpoint()
	out.URL.Host = endpoint.String()
	body, err := attemptBody(request)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	out.Body = body
	response, err := a.replica.transport(a.to.backend.H2C).RoundTrip(out)
	a.judge(endpoint, response, err)
	if err != nil {
		limit.Stop()
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		cancel(nil)
		return nil, err
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		limit.Stop()
		// The body is the connection, which ends with the request.
		context.AfterFunc(request.Context(), func() { cancel(nil) })
		return response, nil
	}
	response.Body = &limited{response.Body, func() { limit.Stop(); cancel(nil) }}
	return response, nil
}

// A limited body ends its attempt's time with itself.
type limited struct {
	io.ReadCloser
	end func()
}

func (l *limited) Close() error {
	l.end()
	return l.ReadCloser.Close()
}

// replayable keeps a request's body if it may be needed again, and returns how
// often it can be.
func replayable(request *http.Request, attempts int) (int, error) {
	if attempts == 0 || request.Body == nil || request.Body == http.NoBody {
		return attempts, nil
	}
	kept, err := io.ReadAll(io.LimitReader(request.Body, bodyLimit+1))
	if err != nil {
		return 0, fmt.Errorf("read the request: %w", err)
	}
	if len(kept) > bodyLimit {
		request.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(kept), request.Body), request.Body}
		return 0, nil
	}
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(kept)), nil }
	return attempts, nil
}

// attemptBody is the body for one attempt. A transport closes it, though it
// may have sent nothing.
func attemptBody(request *http.Request) (io.ReadCloser, error) {
	switch {
	case request.GetBody != nil:
		return request.GetBody()
	case request.Body == nil || request.Body == http.NoBody:
		return request.Body, nil
	}
	return io.NopCloser(request.Body), nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
