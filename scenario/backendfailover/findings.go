package backendfailover

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

const (
	// shedLimit is how long an endpoint may get requests that is none any more,
	// or terminates, and returnLimit how long one may get none that is well again.
	shedLimit, returnLimit = time.Second, time.Second
	// A retry hides failures where at least so many, and such a share, came to
	// the backend and to no user.
	maskedLeast, maskedShare = 5, 0.1
	// leftErrors is the share of requests that may fail in spite of retries.
	leftErrors = 0.005
	// unaskedLimit is how many requests a second a gateway may send by itself.
	unaskedLimit = 1.0
	// oftenLimit is how many times as often as a policy has it backends may be
	// asked how they are.
	oftenLimit = 3
)

func (f *failover) findings() {
	f.findAtRest()
	f.findUnasked()
	for _, k := range f.kinds {
		f.findLeft(k)
		f.findMasked(k)
		f.findRetries(k)
		f.findReturn(k)
	}
}

func words(counts map[string]int) string {
	return strings.Join(scenario.Tally(counts, "%d× %s"), ", ")
}

// often says how many outages there were: "2 times".
func (k *kindSeen) often() string {
	if len(k.outages) == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", len(k.outages))
}

// findAtRest: while all backends are well, nobody has an excuse.
func (f *failover) findAtRest() {
	requests, all := f.rest()
	n := scenario.Total(all)
	if n == 0 {
		return
	}
	f.Find("errors-without-outage", result.Broken,
		fmt.Sprintf("while all backends were well, users got %d %s (%s) in %d requests", n, scenario.Plural(n, "error"), words(all), requests),
		result.Evidence{Name: "counts", Text: scenario.Excerpt(scenario.Tally(all, "%d times %s"))})
}

// rest is what users saw while all backends were well.
func (f *failover) rest() (requests int, errors map[string]int) {
	errors = map[string]int{}
	for _, k := range f.kinds {
		requests += k.restRequests
		for what, n := range k.restErrors {
			errors[what] += n
		}
	}
	return requests, errors
}

// findUnasked: somebody asks the backends how they are though no policy says so,
// or oftener than the policy has it: once a second for each backend.
func (f *failover) findUnasked() {
	most, of := 0.0, ""
	for _, k := range f.kinds {
		if k.unasked() > most {
			most, of = k.unasked(), k.kind.name
		}
	}
	evidence := result.Evidence{Name: "counted by the backends", Text: fmt.Sprintf("%.3g/s in the time of %s", most, of)}
	backends := f.Values.Int("healthy") + 1
	if f.Values.String("policy") == dialect.HealthChecks {
		if askers := f.proxies * backends; most > oftenLimit*float64(askers) {
			f.Find("asks-often", result.Costly,
				fmt.Sprintf("the gateway asks %d backends %.3g times a second how they are, where %d would do, one for each backend and proxy: each of the %d paths that lead to them has them asked anew",
					backends, most, askers, f.paths()), evidence)
		}
		return
	}
	if most <= unaskedLimit {
		return
	}
	f.Find("asks-backends", result.Notable,
		fmt.Sprintf("the gateway asks the backends how they are though no policy says so: %.3g requests a second came to %d backends that no user had sent, for %d paths", most, backends, f.paths()), evidence)
}

// findLeft: the backend is no endpoint any more, and gets requests.
func (f *failover) findLeft(k *kindSeen) {
	sheds := k.seconds(func(o *outage) time.Duration { return o.shed })
	if !k.kind.leaves || !(stat.Median(sheds) > shedLimit.Seconds()) {
		return
	}
	_, _, failing, _ := k.sum()
	last := fmt.Sprintf("the last one before a pause of %s came after %s (median)", f.Values.Duration("quiet"), scenario.Seconds(stat.Median(sheds)))
	if math.IsInf(stat.Median(sheds), 1) {
		last = fmt.Sprintf("they did not stop for %s until it was back", f.Values.Duration("quiet"))
	}
	f.Find("still-used-"+k.kind.name, result.Costly,
		fmt.Sprintf("while one of the backends %s (%s), it still got requests: %d in all; %s", k.kind.title, k.often(), failing, last),
		result.Evidence{Name: "until no more came, in seconds", Text: fmt.Sprintf("%.3g", sheds)})
}

// findMasked: more failed at the backend than at users, though nobody asked for
// retries.
func (f *failover) findMasked(k *kindSeen) {
	masked := k.masked()
	requests, failed, failing, _ := k.sum()
	if f.Values.String("policy") != none || masked < maskedLeast || float64(masked) < maskedShare*float64(failing) {
		return
	}
	f.Find("masks-"+k.kind.name, result.Notable,
		fmt.Sprintf("while one of the backends %s (%s), requests were sent again though no route asks for it: %d failed at the backend, by its own count, and users saw %d errors in %d requests",
			k.kind.title, k.often(), failing, failed, requests),
		result.Evidence{Name: "counts", Text: fmt.Sprintf("%d failed at the backend, %d at users, so that %d were sent again", failing, failed, masked)})
}

// retried are the kinds whose failures come back at once, so that there is time
// to try again.
var retried = map[string]bool{"503": true, "refuse": true, "reset": true}

// findRetries: what routes ask for does not keep errors from users.
func (f *failover) findRetries(k *kindSeen) {
	requests, failed, failing, all := k.sum()
	if f.Values.String("policy") != retries || !retried[k.kind.name] || requests == 0 || float64(failed) <= leftErrors*float64(requests) {
		return
	}
	f.Find("retries-fail-"+k.kind.name, result.Costly,
		fmt.Sprintf("while one of the backends %s (%s), users got %d %s (%s) in %d requests, though routes ask for %d retries and the other backends were well",
			k.kind.title, k.often(), failed, scenario.Plural(failed, "error"), words(all), requests, retryAttempts),
		result.Evidence{Name: "counts", Text: fmt.Sprintf("%d failed at the backend, by its own count", failing)})
}

// findReturn: the backend is well again, and gets nothing.
func (f *failover) findReturn(k *kindSeen) {
	backs := k.seconds(func(o *outage) time.Duration { return o.back })
	if !(stat.Median(backs) > returnLimit.Seconds()) {
		return
	}
	away := scenario.Seconds(stat.Median(backs)) + " (median)"
	if math.IsInf(stat.Median(backs), 1) {
		away = fmt.Sprintf("all of the %s until it failed again", f.Values.Duration("period"))
	}
	f.Find("slow-return-"+k.kind.name, result.Costly,
		fmt.Sprintf("after one of the backends %s (%s), it got no requests for %s though it was well again: the others carried its share", k.kind.title, k.often(), away),
		result.Evidence{Name: "until the first good answer, in seconds", Text: fmt.Sprintf("%.3g", backs)})
}
