package report

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// displayWidth is the number of columns that text takes on a terminal.
func displayWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case width.LookupRune(r).Kind() == width.EastAsianWide || width.LookupRune(r).Kind() == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// pad fills text with spaces on the right.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-displayWidth(text)))
}

// padLeft fills text with spaces on the left, for numbers.
func padLeft(text string, columns int) string {
	return strings.Repeat(" ", max(0, columns-displayWidth(text))) + text
}

// wrap breaks text between words into lines of at most that many columns. A
// word that is longer is broken.
func wrap(text string, columns int) []string {
	columns = max(columns, 1)
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		for {
			w := displayWidth(word)
			if used > 0 && used+1+w <= columns {
				line, used = line+" "+word, used+1+w
				break
			}
			if used > 0 {
				lines, line, used = append(lines, line), "", 0
			}
			if w <= columns {
				line, used = word, w
				break
			}
			var head string
			head, word = cut(word, columns)
			lines = append(lines, head)
		}
	}
	if used > 0 {
		lines = append(lines, line)
	}
	return lines
}

// cut splits text after as much as fits into columns, one rune at least.
func cut(text string, columns int) (head, tail string) {
	used := 0
	for i, r := range text {
		used += runeWidth(r)
		if used > columns && i > 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// printable takes out control characters: what a run recorded came from logs
// and objects, and must not move a reader's cursor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) {
			return -1
		}
		return r
	}, text)
}
