package result

// A Metric is one number, or the distribution of n samples.
type Metric struct {
	Title string `json:"title"`
	// Unit is s, B, 1 (a count), 1/s or a ratio's "ratio".
	Unit string `json:"unit"`
	// Better is lower, higher or empty where neither is.
	Better string `json:"better,omitempty"`
	// N is the number of samples behind the numbers.
	N int `json:"n"`
	// Censored counts samples beyond N whose end was not seen within Limit.
	Censored int `json:"censored,omitempty"`
	// Limit is how long a censored sample was waited for, in Unit.
	Limit float64 `json:"limit,omitempty"`

	// Value is set for a single number, the rest for a distribution.
	Value *float64 `json:"value,omitempty"`
	Min   *float64 `json:"min,omitempty"`
	Mean  *float64 `json:"mean,omitempty"`
	P50   *float64 `json:"p50,omitempty"`
	P90   *float64 `json:"p90,omitempty"`
	P95   *float64 `json:"p95,omitempty"`
	P99   *float64 `json:"p99,omitempty"`
	P999  *float64 `json:"p99.9,omitempty"`
	Max   *float64 `json:"max,omitempty"`

	// Lo and Hi bound the median, or Value, at Confidence.
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	// Resolution is the step below which differences mean nothing, in Unit.
	Resolution float64 `json:"resolution,omitempty"`
	// Warnings say what the numbers cannot carry: "need >= 100 samples for
	// p99, have 20".
	Warnings []string `json:"warnings,omitempty"`
}

// Count returns a metric that is an integer count.
func Count(title string, n int) Metric {
	v := float64(n)
	return Metric{Title: title, Unit: "1", N: 1, Value: &v}
}

// Value returns a metric that is one number.
func Value(title, unit string, v float64) Metric {
	return Metric{Title: title, Unit: unit, N: 1, Value: &v}
}

// Lower marks the metric as better when lower.
func (m Metric) Lower() Metric { m.Better = "lower"; return m }

// Higher marks the metric as better when higher.
func (m Metric) Higher() Metric { m.Better = "higher"; return m }
