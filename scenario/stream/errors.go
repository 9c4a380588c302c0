package stream

import (
	"math"
	"slices"
	"time"
)

// ErrorGap is the time without errors that ends a row of them, and WorstBin the
// time in which the worst share of errors is looked for.
const ErrorGap, WorstBin = 100 * time.Millisecond, 100 * time.Millisecond

// LongestRow is the longest time in which the instants of errors follow each
// other by at most ErrorGap. It sorts them.
func LongestRow(instants []time.Duration) time.Duration {
	slices.Sort(instants)
	longest, begin := time.Duration(0), 0
	for i := range instants {
		if i > 0 && instants[i]-instants[i-1] > ErrorGap {
			begin = i
		}
		longest = max(longest, instants[i]-instants[begin])
	}
	return longest
}

// Beyond reports whether so many errors in so many requests are more than what
// happens anyway, by what happened in other requests. Of a Poisson count with
// their mean, less than one in a hundred goes so far beyond it.
func Beyond(errors, requests, baseErrors, baseRequests int) bool {
	if baseErrors == 0 {
		return errors > 0
	}
	expected := float64(baseErrors) * float64(requests) / float64(max(baseRequests, 1))
	return float64(errors) > expected+3*math.Sqrt(expected)+1
}
