package addedlatency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// An account is what API servers have counted, by what was asked for.
type account map[string]tally

// A tally is of requests, and for how long the API server itself was busy with
// them, in seconds.
type tally struct{ requests, seconds float64 }

// What is counted: the objects that are asked for, and what an authenticating
// gateway asks about who is asking.
const (
	configMaps   = "configmaps"
	tokenReviews = "tokenreviews"
	accessReview = "subjectaccessreviews"
)

var counted = []string{configMaps, tokenReviews, accessReview}

// The API server's own metrics.
const (
	requestsTotal    = "apiserver_request_total"
	requestDurations = "apiserver_request_duration_seconds"
	metricsLimit     = 64 << 20
)

// minus is what was counted since.
func (a account) minus(before account) account {
	if a == nil {
		return nil
	}
	d := account{}
	for name, now := range a {
		d[name] = tally{now.requests - before[name].requests, now.seconds - before[name].seconds}
	}
	return d
}

// plus adds up.
func (a account) plus(b account) account {
	sum := account{}
	for _, name := range counted {
		sum[name] = tally{a[name].requests + b[name].requests, a[name].seconds + b[name].seconds}
	}
	return sum
}

// requests is all that was asked.
func (a account) requests() float64 {
	n := 0.0
	for _, t := range a {
		n += t.requests
	}
	return n
}

// readAccount reads an API server's metrics: of ConfigMaps those that are asked
// for as a measurement does, of the others all.
func readAccount(r io.Reader, verb string) (account, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	a := account{}
	for _, name := range []string{requestsTotal, requestDurations} {
		for _, m := range families[name].GetMetric() {
			resource := label(m, "resource")
			if !slices.Contains(counted, resource) || resource == configMaps && (label(m, "verb") != verb || label(m, "subresource") != "") {
				continue
			}
			t := a[resource]
			t.requests += m.GetCounter().GetValue()
			t.seconds += m.GetHistogram().GetSampleSum()
			a[resource] = t
		}
	}
	return a, nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// account asks all API servers.
func (a *apiServer) account(ctx context.Context) (sum account, err error) {
	sum = account{}
	verb := http.MethodGet
	if a.Values.String("verb") == "create" {
		verb = http.MethodPost
	}
	for _, server := range a.servers {
		one, err := a.accountOf(ctx, server, verb)
		if err != nil {
			return nil, fmt.Errorf("read the metrics of the API server at %s: %w", server, err)
		}
		sum = sum.plus(one)
	}
	return sum, nil
}

func (a *apiServer) accountOf(ctx context.Context, server, verb string) (account, error) {
	config := rest.CopyConfig(a.config)
	if !config.Insecure {
		config.ServerName = apiHost
	}
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+server+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := web.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return readAccount(io.LimitReader(response.Body, metricsLimit), verb)
}
