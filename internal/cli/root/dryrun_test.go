package root

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file in testdata, and leaves what it got beside it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		if err := os.WriteFile(path+".got", []byte(got), 0o644); err != nil {
			t.Error(err)
		}
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestDryRunOfTheDefaultPlan(t *testing.T) {
	for name, line := range map[string]string{"dry-run.txt": "run --dry-run --seed 7", "dry-run.json": "run --dry-run --seed 7 --output json"} {
		code, out, errors := command(t, "", line)
		if code != failure.OK || errors != "" {
			t.Errorf("%s: exit code %d, %s", line, code, errors)
		}
		golden(t, name, out)
	}
}

// TestAPrintedPlanIsAPlan: what --dry-run prints means the same again.
func TestAPrintedPlanIsAPlan(t *testing.T) {
	for _, profile := range []string{"smoke", "standard", "seed"} {
		_, first, errors := command(t, "", "run --dry-run --seed 7 --output json --set attached-routes.hold=1500ms --profile "+profile)
		var printed struct{ Plan json.RawMessage }
		if err := json.Unmarshal([]byte(first), &printed); err != nil {
			t.Fatalf("%v\n%s", err, errors)
		}
		code, second, errors := command(t, string(printed.Plan), "run --dry-run --output json --plan -")
		if code != failure.OK {
			t.Fatalf("%s: exit code %d\n%s", profile, code, errors)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s, printed and read again (-first +second):\n%s", profile, diff)
		}
	}
}

// TestABudgetFitsRepeats: as many blocks as the estimate allows, no more.
func TestABudgetFitsRepeats(t *testing.T) {
	for budget, want := range map[string]string{"82s": "1 trials", "2m5s": "2 trials", "1h": "96 trials", "48h": "100 trials"} {
		code, out, errors := command(t, "", "run --dry-run --scenario route-propagation --budget "+budget)
		if code != failure.OK || !strings.Contains(out, want) {
			t.Errorf("a budget of %s: exit code %d, want %s\n%s%s", budget, code, want, out, errors)
		}
	}
}

// TestACopyIsATreatmentOfItsOwn: it doubles the trials, and is called by its
// number.
func TestACopyIsATreatmentOfItsOwn(t *testing.T) {
	code, out, errors := command(t, "", "run --dry-run --scenario attached-routes --repeats 1 --implementation envoy-gateway,envoy-gateway#2")
	if code != failure.OK {
		t.Fatalf("exit code %d, %s", code, errors)
	}
	for _, want := range []string{"2 trials", "b01-attached-routes-envoy-gateway\n", "b01-attached-routes-envoy-gateway-2\n", "copy: 2", "installation of envoy-gateway, envoy-gateway#2"} {
		if !strings.Contains(out, want) {
			t.Errorf("not printed: %q\n%s", want, out)
		}
	}
	if code, _, errors = command(t, "", "run --dry-run --implementation envoy-gateway#2"); code != failure.Usage || !strings.Contains(errors, "there is no envoy-gateway before it") {
		t.Errorf("a copy of nothing: exit code %d, %s", code, errors)
	}
}
