package detection

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/scenario/question"
	"github.com/gatemark/gatemark/truth/fault"
)

var update = flag.Bool("update", false, "rewrite the table in docs/detection.md")

// TestRows: each is whole, and a scenario can take its parameters.
func TestRows(t *testing.T) {
	for _, r := range Matrix() {
		if r.Wrong == "" || r.Finds == "" || r.Says == "" || len(r.Sizes) != 3 {
			t.Errorf("row %q of %s has %d sizes, finds %q and says %q", r.Wrong, r.Scenario, len(r.Sizes), r.Finds, r.Says)
		}
		s := question.Find(r.Scenario)
		if s == nil {
			t.Errorf("%s: there is no scenario %q", r.Wrong, r.Scenario)
			continue
		}
		for _, size := range r.Sizes {
			if _, err := resolve(s, r.parameters(size)); err != nil {
				t.Errorf("%s, %s: %v", r.Wrong, size.Name, err)
			}
			if reflect.DeepEqual(size.Faults, fault.Faults{}) {
				t.Errorf("%s, %s: nothing is wrong", r.Wrong, size.Name)
			}
		}
	}
	for _, r := range Clean() {
		if r.Finds != "" || r.Says != "" || !reflect.DeepEqual(r.Sizes[0].Faults, fault.Faults{}) {
			t.Errorf("row %+v is not clean", r)
		}
	}
}

const docs = "../../docs/detection.md"

// TestDocumentation: docs/detection.md shows the matrix as it is.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	want := Markdown(Matrix())
	begin := strings.Index(string(data), want[:strings.IndexByte(want, '\n')])
	if begin < 0 {
		t.Fatalf("%s has no table of the matrix", docs)
	}
	end := begin + strings.Index(string(data[begin:])+"\n\n", "\n\n") + 1
	if got := string(data[begin:min(end, len(data))]); got == want {
		return
	}
	if !*update {
		t.Fatalf("%s does not show the matrix as it is: go test ./truth/detection -run Documentation -update", docs)
	}
	text := string(data[:begin]) + want + string(data[min(end, len(data)):])
	if err := os.WriteFile(docs, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
