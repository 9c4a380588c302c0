package report

import (
	"regexp"
	"strings"
)

var markdownMarks = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", "&", "&amp;",
	"|", `\|`, "~", `\~`, "$", `\$`,
)

var (
	// mention is what would call someone in an issue.
	mention = regexp.MustCompile(`(^|[^\w/.@-])@(\w)`)
	// opening is what would make a line more than text.
	opening = regexp.MustCompile(`^([#>+-]|=+$|[0-9]+[.)]( |$))`)
)

// escape makes text mean itself. A mention gets an invisible space, so that a
// report in an issue calls nobody. Line breaks become spaces.
func escape(text string) string {
	text = markdownMarks.Replace(strings.Join(strings.Fields(text), " "))
	text = mention.ReplaceAllString(text, "$1@\u200b$2")
	if at := opening.FindStringIndex(text); at != nil {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		text = text[:digits] + `\` + text[digits:]
	}
	return text
}

// cellText is text in a table, where lines break by a tag.
func cellText(text string) string {
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		lines = append(lines, escape(l))
	}
	return strings.Join(lines, "<br>")
}

// code shows text in a code span.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if !strings.Contains(text, "`") {
		return "`" + text + "`"
	}
	return "`` " + strings.ReplaceAll(text, "``", "` `") + " ``"
}
