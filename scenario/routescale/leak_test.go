package routescale

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// leaked is what the recorded processes leaked, in bytes a second: 20 MiB a
// minute (truth/controlplane/record_test.go).
const leaked = 20 << 20 / 60.0

// TestRecordedMemory: each of ten recordings of truth's control plane, three
// minutes long, in which it leaks is found with its slope, and none of ten in
// which it does not.
func TestRecordedMemory(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct{ At, Bytes []float64 }
		if err := json.Unmarshal(text, &recorded); err != nil {
			t.Fatal(err)
		}
		l := leakOf(recorded.At, recorded.Bytes)
		leaks := strings.HasPrefix(filepath.Base(file), "leak-")
		slope := l.whole.Slope
		t.Logf("%s: %.3g MiB a minute (%.3g to %.3g), later half %.3g, level %.0f MiB, %d samples", file, slope.Center*60/mb, slope.Lo*60/mb, slope.Hi*60/mb, l.late.Slope.Center*60/mb, l.level/mb, l.whole.N)
		switch {
		case l.is() != leaks:
			t.Errorf("%s: a leak is found: %v, want %v: %+v", file, l.is(), leaks, l)
		case leaks && math.Abs(slope.Center-leaked) > 0.1*leaked:
			t.Errorf("%s: %.0f bytes a second, want %.0f", file, slope.Center, leaked)
		}
	}
}
