package tables

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gatemark/gatemark/stat"
)

const absent = "-"

// count prints an integer with its thousands set apart.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// milliseconds prints seconds, to three digits.
func milliseconds(s float64) string {
	ms := s * 1e3
	switch {
	case s >= math.MaxFloat64/2:
		return "never sent"
	case ms >= 100:
		return strconv.FormatFloat(ms, 'f', 0, 64)
	case ms >= 10:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	case ms >= 1:
		return strconv.FormatFloat(ms, 'f', 2, 64)
	default:
		return strconv.FormatFloat(ms, 'f', 3, 64)
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }

// percent rounds down: what is less than a limit never looks like it.
func percent(share float64) string {
	const slack = 1e-9 // for what multiplying takes away
	return strconv.FormatFloat(math.Floor(10000*share+slack)/100, 'f', 2, 64) + " %"
}

// A spread is the median of some rounds with how far they lie apart: bounds of
// the median at 95 % where there are rounds enough, least and most otherwise.
type spread struct {
	n           int
	mid, lo, hi float64
}

func spreadOf(samples []float64) spread {
	s := stat.Summarize(samples, stat.Options{})
	out := spread{n: s.N, mid: s.P50, lo: s.Lo, hi: s.Hi}
	if math.IsNaN(s.Lo) || math.IsNaN(s.Hi) {
		out.lo, out.hi = s.Min, s.Max
	}
	return out
}

// ratio prints such as "1.21 [1.18-1.25]".
func (s spread) ratio() string {
	if s.n == 0 {
		return absent
	}
	if s.n == 1 {
		return fmt.Sprintf("%.2f", s.mid)
	}
	return fmt.Sprintf("%.2f [%.2f-%.2f]", s.mid, s.lo, s.hi)
}

// rate prints such as "84,201 [±2 %]": the wider side of the spread.
func (s spread) rate() string {
	if s.n == 0 || math.IsNaN(s.mid) || math.IsInf(s.mid, 0) {
		return absent
	}
	text := count(int64(math.Round(s.mid)))
	if s.n == 1 || s.mid == 0 {
		return text
	}
	wide := 100 * math.Max(s.hi-s.mid, s.mid-s.lo) / s.mid
	return fmt.Sprintf("%s ±%s %%", text, strings.TrimSuffix(strconv.FormatFloat(wide, 'f', 1, 64), ".0"))
}
