package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gatemark/gatemark/result"
)

// Weights divide a score between the planes, in percent.
type Weights struct{ DataPlane, ControlPlane int }

// ParseWeights reads "80/20", the data plane's first.
func ParseWeights(text string) (Weights, error) {
	data, control, two := strings.Cut(text, "/")
	w := Weights{}
	var err1, err2 error
	w.DataPlane, err1 = strconv.Atoi(data)
	w.ControlPlane, err2 = strconv.Atoi(control)
	if !two || errors.Join(err1, err2) != nil || min(w.DataPlane, w.ControlPlane) < 0 || w.DataPlane+w.ControlPlane != 100 {
		return w, fmt.Errorf("weights %q are not two percentages that make 100, the data plane's first, as in 80/20", text)
	}
	return w, nil
}

// Score writes, for each scenario with several implementations, one number for
// what each of them uses: least/own of CPU time and of memory, averaged for each
// plane, and the planes by their weights. The best possible is 1. A published
// comparison has such a number; it hides what a reader must know, and nothing
// else in gatemark rests on it.
func Score(w io.Writer, run *result.Run, trials []*result.Trial, weights Weights, o Options) error {
	t := &terminal{Options: o.withDefaults()}
	t.paragraph("", bold, fmt.Sprintf("Score of what was used: %d %% data plane, %d %% control plane. This is no verdict.", weights.DataPlane, weights.ControlPlane))
	t.paragraph("", dim, "Of each plane the mean of two shares, least/own of CPU time and least/own of the largest working set, medians over trials; then both planes by the weights above, "+
		"which somebody chose. 1 is the best there can be. Who did less of the work has the better score: read the findings first.")
	none := true
	for _, s := range newView(run, trials).Sections {
		scores := s.scores(weights)
		if len(scores) == 0 {
			continue
		}
		none = false
		t.heading(s.Title)
		top := slices.MaxFunc(scores, func(a, b score) int { return cmp.Compare(a.value(weights), b.value(weights)) })
		best := top.value(weights)
		rows, groups := [][]string{{"Implementation", "Score", "", "least/own of CPU time and memory"}}, []string(nil)
		for _, of := range scores {
			value := of.value(weights)
			if math.IsNaN(value) {
				rows, groups = append(rows, []string{of.arm.Treatment.Title, "none", "", of.why(weights)}), append(groups, "")
				continue
			}
			rows = append(rows, []string{of.arm.Treatment.Title, fmt.Sprintf("%.2f", value), "1/" + multipleText(best/value),
				fmt.Sprintf("data plane %s, control plane %s", of.data, of.control)})
			groups = append(groups, "")
		}
		t.table(rows, groups)
	}
	if none {
		t.paragraph("", "", "There is none: no scenario has the CPU time and memory of two implementations.")
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// A score is an implementation's in a section.
type score struct {
	arm           *arm
	data, control share
}

// A share is least/own of both, NaN where one is not known.
type share struct{ cpu, memory float64 }

func (s share) mean() float64  { return (s.cpu + s.memory) / 2 }
func (s share) String() string { return fmt.Sprintf("%.2f and %.2f", s.cpu, s.memory) }

// value is NaN where a plane with a weight is not known.
func (s score) value(w Weights) float64 {
	sum := 0.0
	if w.DataPlane > 0 {
		sum += float64(w.DataPlane) / 100 * s.data.mean()
	}
	if w.ControlPlane > 0 {
		sum += float64(w.ControlPlane) / 100 * s.control.mean()
	}
	return sum
}

// why says what is missing.
func (s score) why(w Weights) string {
	var missing []string
	if w.DataPlane > 0 && math.IsNaN(s.data.mean()) {
		missing = append(missing, "data plane")
	}
	if w.ControlPlane > 0 && math.IsNaN(s.control.mean()) {
		missing = append(missing, "control plane")
	}
	return "what its " + strings.Join(missing, " and its ") + " used is not known apart"
}

// scores are empty where fewer than two implementations have one.
func (s *section) scores(w Weights) []score {
	all := make([]score, len(s.Arms))
	shares := map[string][]float64{}
	for _, metric := range []string{"cpu-data-plane", "memory-peak-data-plane", "cpu-control-plane", "memory-peak-control-plane"} {
		shares[metric] = s.shares(metric)
	}
	known := 0
	for i, a := range s.Arms {
		all[i] = score{
			arm: a, data: share{shares["cpu-data-plane"][i], shares["memory-peak-data-plane"][i]},
			control: share{shares["cpu-control-plane"][i], shares["memory-peak-control-plane"][i]},
		}
		if !math.IsNaN(all[i].value(w)) {
			known++
		}
	}
	if known < 2 {
		return nil
	}
	return all
}

// shares are least/own of a metric, one for each implementation.
func (s *section) shares(metric string) []float64 {
	all := slices.Repeat([]float64{math.NaN()}, len(s.Arms))
	at := slices.IndexFunc(s.All, func(r metricRow) bool { return r.Name == metric })
	if at < 0 {
		return all
	}
	least := math.Inf(1)
	for i, c := range s.All[at].Cells {
		if own := c.Strip.center; own > 0 && !math.IsInf(own, 0) {
			all[i], least = own, min(least, own)
		}
	}
	for i := range all {
		all[i] = least / all[i]
	}
	return all
}
