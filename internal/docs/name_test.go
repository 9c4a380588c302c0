package docs

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/question"
	"github.com/google/go-cmp/cmp"
)

// TestFolders: docs/layout.md names every folder with Go code.
func TestFolders(t *testing.T) {
	layout := read(t, "docs/layout.md")
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// As Go itself does.
		if entry.IsDir() && strings.ContainsRune("._", rune(entry.Name()[0])) && path != top {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		folder, err := filepath.Rel(top, filepath.Dir(path))
		if err == nil && !strings.Contains(layout, "`"+folder+"`") {
			t.Errorf("docs/layout.md does not name `%s`", folder)
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestParameters: docs/scenarios.md has each scenario's parameters, with their
// defaults and bounds, in the order of the code.
func TestParameters(t *testing.T) {
	for _, s := range question.All() {
		var want, got [][]string
		for _, p := range s.Parameters {
			least, most := "", ""
			if p.Min != 0 || p.Max != 0 {
				least, most = bound(p, p.Min), bound(p, p.Max)
			}
			want = append(want, []string{"`" + p.Name + "`", fmt.Sprint(p.Default), least, most})
		}
		for line := range strings.Lines(parametersOf(t, s.Name)) {
			if strings.HasPrefix(line, "| `") {
				got = append(got, cells(line)[:4])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parameters of %s (-code +docs):\n%s", s.Name, diff)
		}
	}
}

// cells splits a row of a table, which has at least four.
func cells(row string) []string {
	all := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return append(all, make([]string, max(0, 4-len(all)))...)
}

func bound(p scenario.Parameter, v float64) string {
	if _, ok := p.Default.(time.Duration); ok {
		return time.Duration(v).String()
	}
	return fmt.Sprint(v)
}

// parametersOf cuts the table of a scenario's parameters out of the page.
func parametersOf(t *testing.T, name string) string {
	t.Helper()
	_, section, ok := strings.Cut(read(t, "docs/scenarios.md"), "## `"+name+"`")
	_, table, ok2 := strings.Cut(section, "### Parameters")
	if !ok || !ok2 {
		t.Fatalf("docs/scenarios.md has no parameters of %s", name)
	}
	table, _, _ = strings.Cut(table, "\n##")
	return table
}

// TestNames: metrics and findings stand in docs/scenarios.md, gates in
// docs/measuring.md, as far as the scenarios' sources name them in one word.
func TestNames(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(top, "scenario", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	shared, err := filepath.Glob(filepath.Join(top, "scenario", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range append(shared, files...) {
		if !strings.HasSuffix(file, "_test.go") {
			source.WriteString(read(t, strings.TrimPrefix(file, top+"/")))
		}
	}
	for _, c := range []struct {
		what, page, pattern string
		least               int
		mention             func(name string) string
	}{
		{"metric", "docs/scenarios.md", `\.(?:Metric|Samples)\("([a-z-]+[a-z])"`, 15, func(name string) string { return "`" + name + "`" }},
		{"finding", "docs/scenarios.md", `\.Find\("([a-z-]+[a-z])"`, 10, func(name string) string { return "/" + name + "`" }},
		{"gate", "docs/measuring.md", `\.Gate\("([a-z-]+)"`, 5, func(name string) string { return "`" + name + "`" }},
	} {
		text := read(t, c.page)
		names := regexp.MustCompile(c.pattern).FindAllStringSubmatch(source.String(), -1)
		if len(names) < c.least {
			t.Errorf("only %d names of a %s were found in the sources", len(names), c.what)
		}
		for _, m := range names {
			if !strings.Contains(text, c.mention(m[1])) {
				t.Errorf("%s does not mention the %s %s", c.page, c.what, m[1])
			}
		}
	}
}

// TestPlans resolves every plan that the documentation shows.
func TestPlans(t *testing.T) {
	catalogue := plan.Catalogue{Scenarios: run.Scenarios()}
	implementations, err := implementation.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range implementations {
		known := plan.Implementation{Name: i.Name}
		for _, v := range i.Variants {
			known.Variants = append(known.Variants, v.Name)
		}
		catalogue.Implementations = append(catalogue.Implementations, known)
	}
	found := 0
	for _, p := range pages(t) {
		for _, block := range p.blocks("yaml") {
			if !strings.Contains(block, "kind: "+plan.Kind+"\n") {
				continue
			}
			found++
			shown, err := plan.Decode([]byte(block))
			if err == nil {
				_, err = shown.Resolve(catalogue)
			}
			if err != nil {
				t.Errorf("%s: %v", p.path, err)
			}
		}
	}
	if found == 0 {
		t.Error("no plan is shown")
	}
	text := read(t, "docs/plans.md")
	for _, name := range plan.Profiles() {
		if !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("docs/plans.md does not describe the profile %s", name)
		}
	}
}
