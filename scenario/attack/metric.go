package attack

import (
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
)

// Distribution is that of a histogram, which has every request: there is no
// interval to give.
func Distribution(title string, s *load.Summary) result.Metric {
	return result.Metric{
		Title: title, Unit: "s", N: int(s.Count),
		Min: &s.Min, Mean: &s.Mean, P50: &s.P50, P90: &s.P90, P95: &s.P95, P99: &s.P99, P999: &s.P999, Max: &s.Max,
	}.Lower()
}
