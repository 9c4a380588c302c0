package fault

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the table of faults into docs/truth.md")

const page = "../../docs/truth.md"

// comments are those of the fields of Faults.
func comments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok && spec.Name.Name == "Faults" {
			for _, field := range s.Fields.List {
				all[field.Names[0].Name] = strings.ReplaceAll(strings.TrimSpace(field.Doc.Text()), "\n", " ")
			}
		}
		return false
	})
	return all
}

// sizeOf says what a fault's size is.
func sizeOf(kind reflect.Type) string {
	switch {
	case kind == reflect.TypeFor[time.Duration]():
		return "time"
	case kind.Kind() == reflect.Map:
		return "time by replica"
	case kind.Kind() == reflect.Bool:
		return "true"
	case kind.Kind() == reflect.Float64:
		return "share"
	case kind.Kind() == reflect.String:
		return "name"
	}
	return "number"
}

// table has a row for each fault, by the points at which they are asked.
func table(t *testing.T) string {
	t.Helper()
	says, fields := comments(t), reflect.VisibleFields(reflect.TypeFor[Faults]())
	var b strings.Builder
	b.WriteString("| fault | size | what is wrong |\n|---|---|---|\n")
	rows := 0
	for _, p := range Points {
		fmt.Fprintf(&b, "| **%s** | | *%s* |\n", p.Name, p.When)
		for _, f := range fields {
			if f.Tag.Get("point") != p.Name {
				continue
			}
			rows++
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != strings.ToLower(f.Name[:1])+f.Name[1:] || says[f.Name] == "" {
				t.Errorf("field %s is %q in JSON and says %q", f.Name, name, says[f.Name])
			}
			// The comment begins with the field's name, as the row does.
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, sizeOf(f.Type), strings.TrimPrefix(says[f.Name], f.Name+" "))
		}
	}
	if rows != len(fields) {
		t.Errorf("%d of %d fields have a point", rows, len(fields))
	}
	return b.String()
}

// TestDocumented: the page has the table of all faults.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin = "| fault | size | what is wrong |\n"
	wanted, has := table(t), string(text)
	at := strings.Index(has, begin)
	if at < 0 {
		t.Fatalf("%s has no table of faults", page)
	}
	end := strings.Index(has[at:], "\n\n")
	if end < 0 {
		t.Fatalf("the table in %s does not end", page)
	}
	end += at + 1
	if has[at:end] == wanted {
		return
	}
	if !*update {
		t.Fatalf("%s does not say what the faults are; go test ./truth/fault -update writes it", page)
	}
	if err := os.WriteFile(page, []byte(has[:at]+wanted+has[end:]), 0o644); err != nil {
		t.Fatal(err)
	}
}
