package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const top = "../.."

// A page is one Markdown file.
type page struct {
	path string // below top
	text string
}

func pages(t *testing.T) []page {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 9 {
		t.Fatalf("only %d pages were found", len(files))
	}
	var all []page
	for _, file := range append(files, filepath.Join(top, "README.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.Rel(top, file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page{path, string(text)})
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```")

// blocks returns the contents of fenced blocks, of one language or of all.
func (p page) blocks(language string) []string {
	var all []string
	for _, m := range fence.FindAllStringSubmatch(p.text, -1) {
		if language == "" || m[1] == language {
			all = append(all, m[2])
		}
	}
	return all
}

// prose is the page without its fenced blocks.
func (p page) prose() string { return fence.ReplaceAllString(p.text, "") }

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// anchors are the names by which a link can lead to a heading.
func (p page) anchors() map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(p.prose(), -1) {
		var name strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				name.WriteByte('-')
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				name.WriteRune(r)
			}
		}
		all[name.String()] = true
	}
	return all
}
