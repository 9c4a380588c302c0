package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Shorter checks that one duration leaves room within another: what must hold
// for as long as it is waited for can never be seen, and every implementation
// would look broken.
func Shorter(values map[string]any, short, long string) []error {
	s, ok1 := values[short].(time.Duration)
	l, ok2 := values[long].(time.Duration)
	if ok1 && ok2 && s >= l {
		return []error{fmt.Errorf("%s %s is not shorter than %s %s", short, s, long, l)}
	}
	return nil
}

// Lists checks parameters that list names.
func Lists(values map[string]any, parameter string, all []string) []error {
	text, ok := values[parameter].(string)
	if !ok {
		return nil
	}
	if _, err := Listed(text, all); err != nil {
		return []error{fmt.Errorf("%s: %w", parameter, err)}
	}
	return nil
}

// List is a parameter that lists has accepted.
func (v Values) List(parameter string, all []string) []string {
	names, err := Listed(v.String(parameter), all)
	if err != nil {
		panic(fmt.Sprintf("parameter %s: %v", parameter, err)) // checked when the plan was resolved
	}
	return names
}

// Listed reads a parameter that lists some of all names, or says "all".
func Listed(text string, all []string) ([]string, error) {
	if text == "all" {
		return all, nil
	}
	names := strings.Split(text, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if !slices.Contains(all, names[i]) {
			return nil, fmt.Errorf("%q is not one of all, %s", names[i], strings.Join(all, ", "))
		}
		if slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("%s is there twice", names[i])
		}
	}
	return names, nil
}
