package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gatemark/gatemark/result"
)

func pointer(v float64) *float64 { return &v }

func cellOf(metrics ...result.Metric) metricCell {
	var trials []*result.Trial
	for i, m := range metrics {
		trial := trialWith(i+1, result.OK)
		trial.Metrics = map[string]result.Metric{"m": m}
		trials = append(trials, trial)
	}
	return newMetricCell("m", trials)
}

func TestMetricCells(t *testing.T) {
	median := func(p50 float64) result.Metric { return result.Metric{Unit: "s", N: 100, P50: pointer(p50)} }
	beyond := result.Metric{Unit: "s", N: 3, Censored: 7, Limit: 300}
	cases := []struct {
		name    string
		metrics []result.Metric
		want    metricCell
	}{
		{"none", nil, metricCell{Center: "–"}},
		{"one trial has the bounds of its samples",
			[]result.Metric{{Unit: "s", N: 3000, P50: pointer(0.412), Lo: pointer(0.398), Hi: pointer(0.431)}},
			metricCell{Center: "412 ms", Bounds: "398–431", N: "n 3,000", Exact: "0.412 s"}},
		{"censored samples are counted, not averaged",
			[]result.Metric{{Unit: "s", N: 7, Censored: 3, Limit: 300, P50: pointer(12), Lo: pointer(9), Warnings: []string{"p90 lies beyond the limit of 300 s: 3 of 10 not seen", "need >= 6"}}},
			metricCell{Center: "12.0 s", Bounds: "9.00–?", Censored: "7 of 10 within 300 s", Exact: "12 s", Warnings: []string{"need >= 6"}}},
		{"a median beyond the limit is not a number",
			[]result.Metric{beyond}, metricCell{Center: "not seen", Censored: "3 of 10 within 300 s"}},
		{"a count", []result.Metric{result.Count("", 41_213)}, metricCell{Center: "41,213", Exact: "41213"}},
		{"nothing seen has a bound",
			[]result.Metric{{Unit: "ratio", N: 3000, Value: pointer(0)}},
			metricCell{Center: "0 %", Zero: "none in 3,000: rate below 0.0998 % at 95 %", Exact: "0 ratio"}},
		{"a share names its whole",
			[]result.Metric{{Unit: "ratio", N: 3000, Value: pointer(2999.0 / 3000)}},
			metricCell{Center: "99.97 %", N: "of 3,000", Exact: "0.9996666666666667 ratio"}},
		{"few repeats have no bounds between them",
			[]result.Metric{median(0.3), median(0.1), median(0.2)},
			metricCell{Center: "200 ms", N: "n 300", Blocks: []string{"300", "100", "200"}, Exact: "0.2 s"}},
		{"six repeats have",
			[]result.Metric{median(0.3), median(0.1), median(0.2), median(0.6), median(0.5), median(0.4)},
			metricCell{Center: "300 ms", Bounds: "100–600", N: "n 600", Blocks: []string{"300", "100", "200", "600", "500", "400"}, Exact: "0.3 s"}},
		{"an unseen repeat is larger than all",
			[]result.Metric{median(2), beyond, median(1)},
			metricCell{Center: "2.00 s", Censored: "203 of 210 within 300 s", Blocks: []string{"2.00", "not seen", "1.00"}, Exact: "2 s"}},
		{"a failure in one repeat is not lost in a median of zero",
			[]result.Metric{{Unit: "ratio", N: 100, Value: pointer(0)}, {Unit: "ratio", N: 100, Value: pointer(0.01)}, {Unit: "ratio", N: 100, Value: pointer(0)}},
			metricCell{Center: "0 %", Blocks: []string{"0", "1.00", "0"}, Exact: "0 ratio"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := cellOf(c.metrics...)
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(metricCell{}, "Strip"), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInvalidTrialsEnterNoNumber(t *testing.T) {
	good, bad := trialWith(1, result.OK), trialWith(1, result.Invalid)
	good.Metrics = map[string]result.Metric{"m": result.Value("m", "s", 1)}
	bad.Metrics = map[string]result.Metric{"m": result.Value("m", "s", 999), "only-invalid": result.Value("", "s", 5)}
	bad.Gates = []result.Gate{{Name: "late-sends", Value: 0.032, Limit: 0.01, Unit: "ratio"}}
	v := newView(&result.Run{}, []*result.Trial{bad, good})
	if got := v.Sections[0].All; len(got) != 1 || got[0].Cells[0].Center != "1.00 s" {
		t.Errorf("got %+v", got)
	}
	if rows := v.NotOK.Rows; len(rows) != 1 || !strings.Contains(rows[0][2], "gate late-sends: 3.20 %, limit 1 %") {
		t.Errorf("the invalid trial is listed as %v", rows)
	}
}

func TestStripsShareAScale(t *testing.T) {
	row := metricRow{Cells: []metricCell{
		{Strip: strip{center: 1, lo: math.NaN(), hi: math.NaN()}},
		{Strip: strip{center: 4, lo: 2, hi: 8}},
		{Strip: strip{center: math.NaN()}},
	}}
	row.scaleStrips()
	if a, b := row.Cells[0].Strip, row.Cells[1].Strip; a.max != 8 || b.at(8) != stripWidth-3 || a.at(4) != b.at(4) {
		t.Errorf("got %+v and %+v", a, b)
	}
	if row.Cells[2].Strip.svg() != "" {
		t.Error("nothing was drawn as something")
	}
	alone := metricRow{Cells: []metricCell{{Strip: strip{center: 1}}}}
	alone.scaleStrips()
	if alone.Cells[0].Strip.svg() != "" {
		t.Error("a strip was drawn with nothing to compare")
	}
}
