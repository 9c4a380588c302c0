package plan

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A Catalogue is what a plan can ask for.
type Catalogue struct {
	Implementations []Implementation
	Scenarios       []Scenario
}

// An Implementation that a plan can name.
type Implementation struct {
	Name     string
	Variants []string
	// Several: more than one version of it fits in a cluster.
	Several bool
	// Unlisted: it is there for whoever names it, and in no list.
	Unlisted bool
}

// A Scenario that a plan can name.
type Scenario struct {
	Name       string
	Parameters []Parameter
	// Check finds problems between parameters that are each good alone.
	Check func(values map[string]any) []error
}

// A Parameter of a scenario.
type Parameter struct {
	Name string
	// Default has the parameter's type: int, float64, bool, string or
	// time.Duration (written "300ms").
	Default any
	// Min and Max bound numbers and durations (in the unit of Default);
	// both 0 means no bounds.
	Min, Max float64
	// OneOf lists the values that a string can have; empty allows any.
	OneOf []string
	Help  string
}

// parse returns the value in the parameter's type. The decoder gives float64,
// bool and string; the command line gives strings only.
func (p Parameter) parse(v any) (any, error) {
	switch d := p.Default.(type) {
	case int:
		f, err := number(v)
		if err != nil || f != math.Trunc(f) {
			return nil, fmt.Errorf("%v is not a whole number, such as %d", quote(v), d)
		}
		return int(f), p.bounds(f, "")
	case float64:
		f, err := number(v)
		if err != nil {
			return nil, fmt.Errorf("%v is not a number, such as %g", quote(v), d)
		}
		return f, p.bounds(f, "")
	case bool:
		switch v {
		case true, "true":
			return true, nil
		case false, "false":
			return false, nil
		}
		return nil, fmt.Errorf("%v is neither true nor false", quote(v))
	case time.Duration:
		s, ok := v.(string)
		dur, err := time.ParseDuration(s)
		if !ok || err != nil {
			return nil, fmt.Errorf("%v is not a duration, such as %q", quote(v), d)
		}
		return dur, p.bounds(float64(dur), "duration")
	case string:
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%v is not a text", quote(v))
		}
		if len(p.OneOf) > 0 && !slices.Contains(p.OneOf, s) {
			return nil, fmt.Errorf("%q is not one of %s", s, strings.Join(p.OneOf, ", "))
		}
		return s, nil
	}
	return nil, fmt.Errorf("parameter %s has a default of type %T: a defect of gatemark", p.Name, p.Default)
}

func (p Parameter) bounds(v float64, kind string) error {
	if p.Min == 0 && p.Max == 0 || v >= p.Min && v <= p.Max {
		return nil
	}
	if kind == "duration" {
		return fmt.Errorf("%s is not between %s and %s", time.Duration(v), time.Duration(p.Min), time.Duration(p.Max))
	}
	return fmt.Errorf("%g is not between %g and %g", v, p.Min, p.Max)
}

func number(v any) (float64, error) {
	switch n := v.(type) {
	case float64:
		return n, nil
	case int:
		return float64(n), nil
	case int64:
		return float64(n), nil
	case string:
		return strconv.ParseFloat(n, 64)
	}
	return 0, fmt.Errorf("not a number")
}

func quote(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	sort.Strings(names)
	return names
}
