// Package quantity writes numbers for people. Results are kept in base units;
// scaling and rounding happen here and nowhere else.
//
// Three significant digits are written, except for counts, which are exact
// integers, and shares near one, which get as many digits as it takes not to
// say "100 %" of something that is not all.
package quantity

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A Scale writes numbers of one unit at one magnitude, so that numbers side by
// side can be compared by eye.
type Scale struct {
	// Symbol is the unit at this magnitude, such as "ms"; it may be empty.
	Symbol string
	factor float64
	kind   kind
}

type kind int

const (
	measure kind = iota
	count
	share
)

type step struct {
	from   float64
	factor float64
	symbol string
}

// steps of a unit, largest first. The last one is used for all below.
var steps = map[string][]step{
	"s": {
		{3 * 3600, 1.0 / 3600, "h"}, {600, 1.0 / 60, "min"}, {1, 1, "s"},
		{1e-3, 1e3, "ms"}, {1e-6, 1e6, "µs"}, {0, 1e9, "ns"},
	},
	"B": {
		{1e12, 1e-12, "TB"}, {1e9, 1e-9, "GB"}, {1e6, 1e-6, "MB"}, {1e3, 1e-3, "kB"}, {0, 1, "B"},
	},
	"B/s": {
		{1e9, 1e-9, "GB/s"}, {1e6, 1e-6, "MB/s"}, {1e3, 1e-3, "kB/s"}, {0, 1, "B/s"},
	},
}

// For returns the scale in which v is best written. The unit is one of the
// result schema's ("s", "B", "1", "1/s", "ratio") or any other, which is then
// written as it is.
func For(v float64, unit string) Scale {
	switch unit {
	case "1", "":
		return Scale{factor: 1, kind: count}
	case "ratio":
		return Scale{Symbol: "%", factor: 100, kind: share}
	case "1/s":
		return Scale{Symbol: "/s", factor: 1}
	}
	if math.IsInf(v, 0) {
		return Scale{Symbol: unit, factor: 1}
	}
	// Rounded first, so that 999.7 ms becomes 1.00 s and not 1000 ms.
	size := significant(math.Abs(v))
	ladder := steps[unit]
	for i, s := range ladder {
		if size >= s.from && (size > 0 || unit == "B") || i == len(ladder)-1 && size > 0 {
			return Scale{Symbol: s.symbol, factor: s.factor}
		}
	}
	return Scale{Symbol: unit, factor: 1}
}

// Number writes v without the unit.
func (s Scale) Number(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	if math.IsInf(v, 0) {
		return strings.Replace(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"), "Inf", "∞", 1)
	}
	scaled := v * s.factor
	switch {
	case s.kind == count && v == math.Trunc(v) && math.Abs(v) < 1e15:
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	case s.kind == share:
		return percent(v)
	}
	return threeDigits(scaled)
}

// Write writes v with the unit.
func (s Scale) Write(v float64) string {
	return s.with(s.Number(v))
}

// Setting writes v with the unit and without trailing zeros: for limits and
// other numbers that were chosen, not measured.
func (s Scale) Setting(v float64) string {
	number := s.Number(v)
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return s.with(number)
}

// Decimals writes v without the unit, to that many decimals: for the ticks of
// an axis, which share their step.
func (s Scale) Decimals(v float64, decimals int) string {
	text := strconv.FormatFloat(v*s.factor, 'f', decimals, 64)
	whole, fraction, found := strings.Cut(text, ".")
	if !found {
		return group(whole)
	}
	return group(whole) + "." + fraction
}

func (s Scale) with(number string) string {
	switch {
	case s.Symbol == "" || number == "–":
		return number
	case strings.HasPrefix(s.Symbol, "/"):
		return number + s.Symbol
	}
	return number + " " + s.Symbol
}

// Factor is what a number in base units is multiplied by in this scale.
func (s Scale) Factor() float64 { return s.factor }

// Write writes v at its own best scale: "12.3 ms", "350 MB", "3,000".
func Write(v float64, unit string) string { return For(v, unit).Write(v) }

// Setting writes a chosen number, without trailing zeros: "30 s".
func Setting(v float64, unit string) string { return For(v, unit).Setting(v) }

// Count writes an integer, grouped: "3,000".
func Count(n int) string { return group(strconv.Itoa(n)) }

// Plural writes n things: "1 trial", "3,000 trials".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Duration writes a length of time to the second: "1 h 2 min", "3 min 5 s",
// "4.2 s".
func Duration(seconds float64) string {
	if math.IsNaN(seconds) {
		return "–"
	}
	if seconds < 60 {
		return Setting(math.Round(seconds*10)/10, "s")
	}
	d := time.Duration(math.Round(seconds)) * time.Second
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return Count(h) + " h " + strconv.Itoa(m) + " min"
	case s == 0:
		return strconv.Itoa(m) + " min"
	}
	return strconv.Itoa(m) + " min " + strconv.Itoa(s) + " s"
}

// significant rounds to three significant digits.
func significant(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if err != nil {
		return v // cannot be: the text came from FormatFloat
	}
	return rounded
}

func threeDigits(v float64) string {
	v = significant(v)
	size := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case size >= 1e15 || size < 1e-4:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case size >= 100:
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	}
	decimals := 2 - int(math.Floor(math.Log10(size)))
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// percent never rounds to 0 or 100 what is not.
func percent(v float64) string {
	switch {
	case v == 1:
		return "100"
	case v > 0.99 && v < 1:
		for decimals := 1; decimals < 12; decimals++ {
			if text := strconv.FormatFloat(v*100, 'f', decimals, 64); !strings.HasPrefix(text, "100") {
				return text
			}
		}
		return "<100"
	}
	return threeDigits(v * 100)
}

// group puts commas between thousands.
func group(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}
