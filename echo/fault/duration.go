package fault

import (
	"fmt"
	"time"
)

// A Duration is as Go writes it: "5ms". It stays text until Compile, so that
// all that is wrong with a description can be said at once.
type Duration string

// For is d as text.
func For(d time.Duration) Duration { return Duration(d.String()) }

// Longest bounds every duration in Faults.
const Longest = 24 * time.Hour

// parse returns 0 for the empty Duration.
func (d Duration) parse() (time.Duration, error) {
	if d == "" {
		return 0, nil
	}
	value, err := time.ParseDuration(string(d))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration like 5ms or 22s", string(d))
	case value < 0:
		return 0, fmt.Errorf("%s is negative", d)
	case value > Longest:
		return 0, fmt.Errorf("%s is longer than %v", d, Longest)
	}
	return value, nil
}
