package plan

import (
	"fmt"
	"time"
)

// Observe says how often what is looked at beside every scenario is read. Each
// is a duration such as 500ms, or "off".
type Observe struct {
	// Usage is how often samplers read what pods and nodes use.
	Usage string `json:"usage,omitempty"`
	// Metrics is how often the implementation's own metrics are scraped.
	Metrics string `json:"metrics,omitempty"`
}

// Off is what turns an observation off.
const Off = "off"

// The defaults, and the least that is accepted.
const (
	usageDefault   = "1s"
	usageLeast     = 100 * time.Millisecond
	metricsDefault = "5s"
	metricsLeast   = time.Second
)

// UsageEvery is the samplers' interval, 0 for none.
func (o Observe) UsageEvery() time.Duration { return every(o.Usage) }

// MetricsEvery is the interval of scrapes, 0 for none.
func (o Observe) MetricsEvery() time.Duration { return every(o.Metrics) }

func every(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0 // off, or a plan that was not resolved
	}
	return d
}

// observe checks the intervals and fills in the defaults.
func (r *resolver) observe(o *Observe) {
	for _, c := range []struct {
		field    string
		to       *string
		standard string
		least    time.Duration
	}{
		{"usage", &o.Usage, usageDefault, usageLeast},
		{"metrics", &o.Metrics, metricsDefault, metricsLeast},
	} {
		if *c.to == "" {
			*c.to = c.standard
		}
		if *c.to == Off {
			continue
		}
		d, err := time.ParseDuration(*c.to)
		if err != nil {
			r.problem("observe.%s: %q is neither a duration nor %s", c.field, *c.to, Off)
			continue
		}
		if d < c.least || d > time.Hour {
			r.problem("observe.%s: %s is not between %s and %s", c.field, d, c.least, time.Hour)
			continue
		}
		*c.to = fmt.Sprint(d)
	}
}
