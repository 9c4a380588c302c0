package implementation

import (
	"strings"
	"testing"

	"github.com/gatemark/gatemark/dialect"
)

// TestDialects: what is here of dialects makes Kubernetes objects.
func TestDialects(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, i := range all {
		for _, v := range append([]Variant{{}}, i.Variants...) {
			effective, err := i.WithVariant(v.Name)
			if err != nil {
				t.Fatalf("%s/%s: %v", i.Name, v.Name, err)
			}
			d := effective.Dialect()
			if d == nil {
				continue
			}
			found++
			if err := d.Check(); err != nil {
				t.Errorf("%s/%s: %v", i.Name, v.Name, err)
			}
			text, err := d.Text(dialect.Route{Name: "r", Namespace: "n", Host: "a.test", Service: "s", Port: 80})
			if err != nil || !strings.Contains(text, "kind: ") {
				t.Errorf("%s/%s: %v, it makes\n%s", i.Name, v.Name, err, text)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d dialects were found", found)
	}
}
