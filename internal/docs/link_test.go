package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinks(t *testing.T) {
	all := pages(t)
	byPath := map[string]page{}
	for _, p := range all {
		byPath[p.path] = p
	}
	found := 0
	for _, p := range all {
		for _, m := range link.FindAllStringSubmatch(p.prose(), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := p.path
			if file != "" {
				target = filepath.Join(filepath.Dir(p.path), file)
			}
			if _, err := os.Stat(filepath.Join(top, target)); err != nil {
				t.Errorf("%s: link %s leads nowhere", p.path, m[1])
			} else if to, ok := byPath[target]; anchor != "" && (!ok || !to.anchors()[anchor]) {
				t.Errorf("%s: link %s: %s has no such heading", p.path, m[1], target)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d links were found", found)
	}
}
