package result

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTrialRoundTrip(t *testing.T) {
	d := Directory(t.TempDir())
	want := &Trial{
		SchemaVersion: SchemaVersion, ID: "a", Outcome: OK, Started: time.Unix(10, 5).UTC(),
		Metrics: map[string]Metric{"m": Count("things", 3).Lower()},
		Series: []Series{{Name: "s", Columns: []Column{
			{Name: "x", Unit: "s", Values: Numbers{1, math.NaN(), 3}},
			{Name: "who", Labels: []string{"a", "b", "c"}},
		}}},
	}
	if err := d.WriteTrial(want, map[string][]byte{"evidence/log.txt": []byte("line\n")}); err != nil {
		t.Fatal(err)
	}
	got, err := d.ReadTrial("a")
	if err != nil {
		t.Fatal(err)
	}
	nans := cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
	if diff := cmp.Diff(want, got, nans); diff != "" {
		t.Errorf("trial changed on its way (-want +got):\n%s", diff)
	}
	files, err := d.TrialFiles("a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"evidence/log.txt", "trial.json"}, files); diff != "" {
		t.Error(diff)
	}
}

func TestTrialsAreWholeOrAbsent(t *testing.T) {
	d := Directory(t.TempDir())
	if err := d.WriteTrial(&Trial{SchemaVersion: SchemaVersion, ID: "whole"}, nil); err != nil {
		t.Fatal(err)
	}
	// A crash in the middle of a write leaves this behind.
	torn := filepath.Join(string(d), trialsDir, unfinished+"torn")
	if err := os.MkdirAll(torn, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(torn, trialFile), []byte(`{"id":"to`), 0o644); err != nil {
		t.Fatal(err)
	}
	trials, err := d.ReadTrials()
	if err != nil || len(trials) != 1 || trials[0].ID != "whole" {
		t.Fatalf("got %d trials, %v", len(trials), err)
	}
	if err := d.WriteTrial(&Trial{SchemaVersion: SchemaVersion, ID: "torn"}, nil); err != nil {
		t.Errorf("a torn write must not be in the way of the next one: %v", err)
	}
	if err := d.WriteTrial(&Trial{SchemaVersion: SchemaVersion, ID: "whole"}, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a finished trial must not be overwritten: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	d := Directory(t.TempDir())
	ragged := &Trial{ID: "r", Series: []Series{{Name: "s", Columns: []Column{
		{Name: "x", Values: Numbers{1}}, {Name: "y", Values: Numbers{1, 2}}}}}}
	if err := d.WriteTrial(ragged, nil); err == nil {
		t.Error("columns of different lengths were written")
	}
	if err := d.WriteTrial(&Trial{ID: "p"}, map[string][]byte{"../../x": nil}); err == nil {
		t.Error("an attachment left its directory")
	}
	if err := d.WriteRun(&Run{SchemaVersion: "2.0", ID: "later"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadRun(); err == nil {
		t.Error("a later schema was read as if it were ours")
	}
}
