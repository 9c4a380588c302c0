package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// ExcerptLines bounds evidence that goes into the result itself.
const ExcerptLines = 20

// Excerpt is the beginning of lines, as evidence.
func Excerpt(lines []string) string {
	if more := len(lines) - ExcerptLines; more > 0 {
		lines = append(slices.Clone(lines[:ExcerptLines]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Seconds is a duration in words, with three digits.
func Seconds(s float64) string {
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return "never"
	}
	d := time.Duration(s * float64(time.Second))
	switch {
	case d.Abs() >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d.Abs() >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d.Abs() >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d.Abs() < time.Millisecond:
		return d.Round(time.Microsecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

// SecondsSeen is a duration in seconds, and NaN for one below 0, which stands for
// what was not seen.
func SecondsSeen(d time.Duration) float64 {
	if d < 0 {
		return math.NaN()
	}
	return d.Seconds()
}

// Tally writes counts as lines, the greatest first.
func Tally(counts map[string]int, format string) []string {
	var lines []string
	for _, what := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	}) {
		lines = append(lines, fmt.Sprintf(format, counts[what], what))
	}
	return lines
}

// Plural is a word for so many.
func Plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// Total is the sum of counts.
func Total(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
