package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
)

// Whatever is measured is shown (trap: a metric that is computed and never
// printed). Every field of the schema is filled with a value of its own; each
// text must appear in every format, and a change of any value must change
// every format.
func TestEveryFieldIsShown(t *testing.T) {
	doc := filledDocument(t)
	original := renderAll(t, doc)
	tree := toTree(t, doc)
	leaves := 0
	walk(tree, nil, func(path []any, leaf any) {
		leaves++
		name := pathName(path)
		if _, exempt := notShown[name]; exempt {
			return
		}
		if text, ok := leaf.(string); ok && strings.HasPrefix(text, "word") {
			for format, output := range original {
				if !strings.Contains(output, text) {
					t.Errorf("%s: %s is not in the report", format, name)
				}
			}
		}
		changed := toTree(t, doc)
		set(changed, path, other(leaf))
		mutated := renderAll(t, fromTree(t, changed))
		for format, output := range mutated {
			if output == original[format] {
				t.Errorf("%s: the report is the same when %s changes from %v to %v", format, name, leaf, other(leaf))
			}
		}
	})
	if leaves < 150 {
		t.Errorf("only %d values were tried: the document is not filled", leaves)
	}
}

// notShown are the values that reports may leave out, each with the reason.
var notShown = map[string]string{
	"schemaVersion":        "of the document: the one of this program",
	"run.scenarios.*.name": "the key that it stands under",
}

// Map keys are texts too.
func TestEveryKeyIsShown(t *testing.T) {
	doc := filledDocument(t)
	keys := []string{}
	for k := range doc.Trials[0].Metrics {
		keys = append(keys, k)
	}
	for k := range doc.Run.Implementations {
		keys = append(keys, k)
	}
	for k := range doc.Run.Scenarios {
		keys = append(keys, k)
	}
	for format, output := range renderAll(t, doc) {
		for _, k := range keys {
			if !strings.Contains(output, k) {
				t.Errorf("%s: key %s is not in the report", format, k)
			}
		}
	}
}

func renderAll(t *testing.T, doc result.Document) map[string]string {
	t.Helper()
	outputs := map[string]string{}
	for _, f := range formats {
		var b bytes.Buffer
		if err := Render(&b, f.name, doc.Run, doc.Trials); err != nil {
			t.Fatal(err)
		}
		outputs[f.name] = b.String()
	}
	outputs["html"] = html.UnescapeString(outputs["html"])
	return outputs
}

// filledDocument fills every field, and ties what refers to each other.
func filledDocument(t *testing.T) result.Document {
	f := &filler{}
	var doc result.Document
	f.fill(reflect.ValueOf(&doc).Elem(), "")
	trial := doc.Trials[0]
	trial.Outcome = result.OK
	trial.Implementation = only(doc.Run.Implementations)
	trial.Scenario = only(doc.Run.Scenarios)
	described := doc.Run.Scenarios[trial.Scenario]
	described.Name = trial.Scenario
	described.Headline = append(described.Headline, only(trial.Metrics))
	doc.Run.Scenarios[trial.Scenario] = described
	trial.Series[0].Columns = []result.Column{
		{Name: f.word(), Title: f.word(), Unit: f.word(), Values: result.Numbers{1.5, 2.5, 4.5}},
		{Name: f.word(), Title: f.word(), Unit: f.word(), Values: result.Numbers{11, 13, 17}},
		{Name: f.word(), Title: f.word(), Unit: f.word(), Labels: []string{f.word(), f.word(), f.word()}},
	}
	line := &trial.Figures[0].Lines[0]
	line.Series, line.X, line.Y = trial.Series[0].Name, trial.Series[0].Columns[0].Name, trial.Series[0].Columns[1].Name
	trial.Figures[0].Kind = "line"
	trial.Figures[0].XUnit = "s"
	trial.Figures[0].Events = []string{trial.Events[0].Name}
	trial.Findings[0].Severity = result.Costly
	if problems := zeroes(reflect.ValueOf(doc), "document"); len(problems) > 0 {
		t.Fatalf("not filled: %s", strings.Join(problems, ", "))
	}
	return doc
}

func only[V any](m map[string]V) string {
	for k := range m {
		return k
	}
	return ""
}

// filler gives every value a different one.
type filler struct{ n int }

func (f *filler) word() string { f.n++; return fmt.Sprintf("word%dx", f.n) }

var (
	rawMessage = reflect.TypeOf(json.RawMessage{})
	instantOf  = reflect.TypeOf(time.Time{})
)

func (f *filler) fill(v reflect.Value, field string) {
	f.n++
	switch v.Type() {
	case rawMessage:
		v.SetBytes(fmt.Appendf(nil, `{"%s":"%s"}`, f.word(), f.word()))
		return
	case instantOf:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 0, f.n, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.word())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(100 + f.n))
	case reflect.Uint64:
		v.SetUint(uint64(100 + f.n))
	case reflect.Float64:
		v.SetFloat(float64(100 + f.n))
		if field == "Confidence" {
			v.SetFloat(0.9)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), field)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), field)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(value, field)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(f.word()), value)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), v.Type().Field(i).Name)
		}
	default:
		panic("the schema has a kind that this test cannot fill: " + v.Kind().String())
	}
}

// zeroes names what the filler left empty.
func zeroes(v reflect.Value, path string) []string {
	if v.IsZero() {
		return []string{path}
	}
	var list []string
	switch v.Kind() {
	case reflect.Pointer:
		list = zeroes(v.Elem(), path)
	case reflect.Struct:
		if v.Type() == instantOf {
			return nil
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type() == reflect.TypeOf(result.Column{}) && (name == "Values" || name == "Labels") {
				continue // one of them
			}
			list = append(list, zeroes(v.Field(i), path+"."+name)...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, zeroes(v.Index(i), path)...)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			list = append(list, zeroes(v.MapIndex(k), path)...)
		}
	}
	return list
}

func toTree(t *testing.T, doc result.Document) any {
	t.Helper()
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func fromTree(t *testing.T, tree any) result.Document {
	t.Helper()
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var doc result.Document
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func walk(node any, path []any, visit func(path []any, leaf any)) {
	switch n := node.(type) {
	case map[string]any:
		for k, v := range n {
			walk(v, append(slices.Clone(path), k), visit)
		}
	case []any:
		for i, v := range n {
			walk(v, append(slices.Clone(path), i), visit)
		}
	default:
		visit(path, node)
	}
}

func set(node any, path []any, value any) {
	for i, step := range path {
		last := i == len(path)-1
		switch at := step.(type) {
		case string:
			if last {
				node.(map[string]any)[at] = value
				return
			}
			node = node.(map[string]any)[at]
		case int:
			if last {
				node.([]any)[at] = value
				return
			}
			node = node.([]any)[at]
		}
	}
}

// other is a different value of the same type.
func other(leaf any) any {
	switch v := leaf.(type) {
	case bool:
		return !v
	case float64:
		return v*2 + 37
	case string:
		if instant, err := time.Parse(time.RFC3339, v); err == nil {
			return instant.Add(100 * time.Second).Format(time.RFC3339)
		}
		if v == "line" {
			return "step"
		}
		return "other" + v
	}
	panic(fmt.Sprintf("no other value than %v", leaf))
}

// pathName writes a path with list positions left out and filled keys as *.
func pathName(path []any) string {
	var parts []string
	for _, step := range path {
		if key, ok := step.(string); ok {
			if strings.HasPrefix(key, "word") {
				key = "*"
			}
			parts = append(parts, key)
		}
	}
	return strings.Join(parts, ".")
}
