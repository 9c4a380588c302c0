package scrape

import (
	"fmt"
	"io"
	"math"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Numbers are what is taken from one answer. One that it does not have is NaN.
type Numbers struct {
	// Series counts the lines with a value.
	Series float64
	// Heap is the bytes of Go's allocated heap objects, GC how many cycles of the
	// garbage collector there have been, Allocations how many allocations.
	Heap, GC, Allocations float64
	// Pushes is how many configurations were sent to proxies.
	Pushes float64
}

// What Go's own collector for Prometheus calls them.
const (
	heapName        = "go_memstats_heap_alloc_bytes"
	gcName          = "go_gc_duration_seconds"
	allocationsName = "go_memstats_mallocs_total"
)

// pushNames are what control planes call what they send to their proxies. There
// is no standard. Names of new ones belong here.
var pushNames = []string{
	"pilot_xds_pushes",          // Istio: pushes, by type
	"xds_snapshot_update_total", // Envoy Gateway: snapshots of a proxy's configuration
}

// Parse reads an answer in the Prometheus text format.
func Parse(r io.Reader) (Numbers, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return Numbers{}, fmt.Errorf("parse metrics: %w", err)
	}
	n := Numbers{Heap: sum(families[heapName]), Allocations: sum(families[allocationsName]), GC: math.NaN(), Pushes: math.NaN()}
	for _, f := range families {
		for _, m := range f.Metric {
			n.Series += float64(lines(m))
		}
	}
	for _, m := range families[gcName].GetMetric() {
		n.GC = float64(m.GetSummary().GetSampleCount())
	}
	for _, name := range pushNames {
		if family := families[name]; family != nil {
			n.Pushes = sum(family)
			break
		}
	}
	return n, nil
}

// lines is how many series a metric is: a histogram is one for each bucket, a
// sum and a count.
func lines(m *dto.Metric) int {
	switch {
	case m.Histogram != nil:
		return len(m.Histogram.Bucket) + 2
	case m.Summary != nil:
		return len(m.Summary.Quantile) + 2
	}
	return 1
}

// sum adds a family up over all labels.
func sum(f *dto.MetricFamily) float64 {
	if f == nil {
		return math.NaN()
	}
	total := 0.0
	for _, m := range f.Metric {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
	}
	return total
}
