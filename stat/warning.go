package stat

import "fmt"

// A Code names a kind of warning, for programs.
type Code string

// The kinds of warnings.
const (
	// NoSamples: there is nothing to describe.
	NoSamples Code = "no-samples"
	// NotNumbers: Have samples were not a number and were left out.
	NotNumbers Code = "not-numbers"
	// NeedMore: What takes Need samples, and there are Have.
	NeedMore Code = "need-more"
	// BeyondLimit: What lies beyond Limit, within which Have of Of samples
	// were not seen.
	BeyondLimit Code = "beyond-limit"
	// AllEqual: all samples are the same number.
	AllEqual Code = "all-equal"
	// NeighboursAlike: the Of samples follow one another, each is like the one
	// before, and together they count as Have independent ones.
	NeighboursAlike Code = "neighbours-alike"
	// BelowResolution: What is smaller than Limit, below which differences
	// mean nothing.
	BelowResolution Code = "below-resolution"
)

// A Warning says what numbers cannot carry. Fields that its Code does not
// mention are zero.
type Warning struct {
	Code           Code
	What           string
	Need, Have, Of int
	// Limit is in Unit, which is only repeated.
	Limit float64
	Unit  string
}

// String is the warning as a sentence, without a full stop.
func (w Warning) String() string {
	switch w.Code {
	case NoSamples:
		return "no samples"
	case NotNumbers:
		return fmt.Sprintf("%d samples are not a number and were left out", w.Have)
	case NeedMore:
		return fmt.Sprintf("need >= %d samples for %s, have %d", w.Need, w.What, w.Have)
	case BeyondLimit:
		return fmt.Sprintf("%s lies beyond %s: %d of %d not seen", w.What, w.limit(), w.Have, w.Of)
	case AllEqual:
		return "all samples are equal"
	case NeighboursAlike:
		return fmt.Sprintf("neighbouring samples are alike: %d count as %d", w.Of, w.Have)
	case BelowResolution:
		return fmt.Sprintf("%s is below the resolution of %v%s", w.What, w.Limit, w.unit())
	}
	return string(w.Code)
}

func (w Warning) limit() string {
	if w.Limit > 0 {
		return fmt.Sprintf("the limit of %v%s", w.Limit, w.unit())
	}
	return "the limit"
}

func (w Warning) unit() string {
	if w.Unit == "" {
		return ""
	}
	return " " + w.Unit
}

// Sentences writes warnings as they are stored in results; nil for none.
func Sentences(warnings []Warning) []string {
	var list []string
	for _, w := range warnings {
		list = append(list, w.String())
	}
	return list
}
