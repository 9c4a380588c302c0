package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var size = Size{Width: 800, Height: 400}

func ramp(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i + 1)
	}
	return values
}

// Whatever the data, a drawing is well-formed and stays in its box.
func TestDrawingsStayInTheirBox(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		c := Chart{
			ID: "x", Title: `a <b> & "c"`, Description: "d", Kind: []Kind{Line, Step, Scatter}[i%3],
			X: Axis{Title: "x <&>", Unit: []string{"s", "1", "B", "ratio", "cores"}[random.IntN(5)], Log: random.IntN(2) == 0},
			Y: Axis{Title: "y", Unit: []string{"s", "1", "B", "ratio", "cores"}[random.IntN(5)], Log: random.IntN(2) == 0},
		}
		for k := range random.IntN(5) {
			curve := Curve{Title: `"<curve>`, Color: k * 3, Dash: k, Faint: k%2 == 0}
			for range random.IntN(400) {
				curve.X = append(curve.X, wild(random))
				curve.Y = append(curve.Y, wild(random))
			}
			c.Curves = append(c.Curves, curve)
			c.Marks = append(c.Marks, Mark{At: wild(random), Title: "a <mark>", Color: k})
		}
		svg := c.Draw(size).SVG
		wellFormed(t, svg)
		inside(t, svg)
		wellFormed(t, c.Alone(size, []Entry{{Title: "<e>"}, {Title: strings.Repeat("long ", 60), Dash: 2}}))
		if t.Failed() {
			t.Fatalf("chart %d: %+v", i, c)
		}
	}
}

// wild is a number of any magnitude, or none.
func wild(random *rand.Rand) float64 {
	switch random.IntN(12) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1)
	case 2:
		return 0
	case 3:
		return -random.Float64()
	}
	return random.Float64() * math.Pow(10, float64(random.IntN(14)-7))
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("not well-formed: %v", err)
			return
		}
	}
}

var (
	paths     = regexp.MustCompile(` d="([^"]*)"`)
	positions = regexp.MustCompile(`([MLHVhv])([^MLHVhv]*)`)
)

func inside(t *testing.T, svg string) {
	t.Helper()
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("the drawing has a coordinate that is no number")
	}
	for _, path := range paths.FindAllStringSubmatch(svg, -1) {
		for _, step := range positions.FindAllStringSubmatch(path[1], -1) {
			numbers := strings.Fields(step[2])
			for i, text := range numbers {
				v, err := strconv.ParseFloat(text, 64)
				limit := float64(size.Width)
				if step[1] == "V" || i == 1 {
					limit = float64(size.Height)
				}
				if err != nil || v < -0.1 || v > limit+0.1 {
					t.Errorf("%s%s leaves the box: %v", step[1], step[2], err)
					return
				}
			}
		}
	}
}

func TestTicks(t *testing.T) {
	cases := []struct {
		axis   Axis
		lo, hi float64
		want   string
		title  string
	}{
		{Axis{Title: "t", Unit: "s"}, 0, 60, "0 10 20 30 40 50 60", "t (s)"},
		{Axis{Title: "t", Unit: "s"}, 0, 0.043, "0 10 20 30 40 50", "t (ms)"},
		{Axis{Title: "t", Unit: "s"}, 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0", "t (s)"},
		{Axis{Title: "n", Unit: "1"}, 0, 3000, "0 500 1,000 1,500 2,000 2,500 3,000", "n"},
		{Axis{Title: "n", Unit: "1"}, 0, 2, "0 1 2", "n"}, // no half routes
		{Axis{Title: "share", Unit: "ratio"}, 0, 1, "0 % 20 % 40 % 60 % 80 % 100 %", "share"},
		{Axis{Title: "m", Unit: "B"}, 0, 3.2e8, "0 50 100 150 200 250 300 350", "m (MB)"},
		{Axis{Title: "t", Unit: "s"}, 5, 5, "0 1 2 3 4 5", "t (s)"},
		{Axis{Title: "t", Unit: "s"}, -2, 2, "-2 -1 0 1 2", "t (s)"},
		{Axis{Title: "t", Unit: "s", Log: true}, 0.003, 0.4, "2 ms 5 ms 10 ms 20 ms 50 ms 100 ms 200 ms 500 ms", "t"},
		{Axis{Title: "t", Unit: "s", Log: true}, 0.001, 3000, "1 ms 10 ms 100 ms 1 s 10 s 100 s 1,000 s", "t"},
		{Axis{Title: "t", Unit: "s", Log: true}, 1e-3, 1e-3, "1 ms 2 ms 5 ms 10 ms", "t"},
	}
	for _, c := range cases {
		s := newScale(c.axis, &extent{lo: c.lo, hi: c.hi, log: c.axis.Log}, 0, 100, 7)
		var labels []string
		for _, tick := range s.ticks {
			labels = append(labels, tick.label)
		}
		if got := strings.Join(labels, " "); got != c.want || s.title != c.title {
			t.Errorf("%+v from %v to %v: %q, ticks %s; want %q, %s", c.axis, c.lo, c.hi, s.title, got, c.title, c.want)
		}
	}
}

// Thinning keeps the extremes of each column of pixels, so that no spike is
// lost.
func TestThinnedCurvesLookTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var points []point
	for i := range 20_000 {
		points = append(points, point{float64(i) / 100, random.Float64() * 300})
	}
	kept := thinCurve(points)
	if len(kept) > 4*201 {
		t.Errorf("%d points are left of %d", len(kept), len(points))
	}
	type span struct{ lo, hi float64 }
	spans := func(points []point) map[float64]span {
		m := map[float64]span{}
		for _, p := range points {
			column := math.Floor(p.x)
			s, ok := m[column]
			if !ok {
				s = span{p.y, p.y}
			}
			m[column] = span{min(s.lo, p.y), max(s.hi, p.y)}
		}
		return m
	}
	before, after := spans(points), spans(kept)
	for column, s := range before {
		if after[column] != s {
			t.Fatalf("column %v went from %v to %v", column, s, after[column])
		}
	}
	for i := 1; i < len(kept); i++ {
		if kept[i].x < kept[i-1].x {
			t.Fatal("the points are out of order")
		}
	}
}

func TestThinnedCloudsCoverTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var points []point
	for range 20_000 {
		points = append(points, point{random.Float64() * 100, random.Float64() * 100})
	}
	kept := thinCloud(points, 0, 2, map[dot]bool{})
	if len(kept) > 51*51 {
		t.Errorf("%d dots are left", len(kept))
	}
	for _, p := range points {
		near := false
		for _, k := range kept {
			if math.Abs(k.x-p.x) <= 2 && math.Abs(k.y-p.y) <= 2 {
				near = true
				break
			}
		}
		if !near {
			t.Fatalf("%v has no dot near it", p)
		}
	}
}

func TestNotesSayWhatIsNotDrawn(t *testing.T) {
	many := Chart{Kind: Line, Curves: []Curve{{X: ramp(100_000), Y: ramp(100_000)}}}
	if notes := strings.Join(many.Draw(size).Notes, "; "); !strings.Contains(notes, "of 100,000 points drawn") {
		t.Errorf("thinned without a word: %q", notes)
	}
	few := Chart{Kind: Line, Curves: []Curve{{X: ramp(10), Y: ramp(10)}}}
	if notes := few.Draw(size).Notes; len(notes) > 0 {
		t.Errorf("everything is drawn, and the notes say %q", notes)
	}
	below := Chart{Kind: Line, Y: Axis{Log: true}, Curves: []Curve{{X: ramp(4), Y: []float64{0, 1, -1, 2}}}}
	if notes := strings.Join(below.Draw(size).Notes, "; "); !strings.Contains(notes, "2 points at or below zero") {
		t.Errorf("points left out without a word: %q", notes)
	}
}

func TestGapsAreNotBridged(t *testing.T) {
	c := Chart{Kind: Line, Curves: []Curve{{X: ramp(5), Y: []float64{1, 2, math.NaN(), 2, 1}}}}
	svg := c.Draw(size).SVG
	d := regexp.MustCompile(`<path class="curve[^>]* d="([^"]*)"`).FindStringSubmatch(svg)
	if d == nil || strings.Count(d[1], "M") != 2 {
		t.Errorf("the curve is %q, want two pieces", d)
	}
}

func TestNoDataIsSaid(t *testing.T) {
	for _, curves := range [][]Curve{nil, {{X: []float64{math.NaN()}, Y: []float64{1}}}} {
		if svg := (Chart{Curves: curves}).Draw(size).SVG; !strings.Contains(svg, "no data") {
			t.Errorf("an empty chart says nothing: %s", svg)
		}
	}
}

func TestManyMarksOfOneTitleAreLabelledOnce(t *testing.T) {
	c := Chart{Kind: Line, Curves: []Curve{{X: ramp(10), Y: ramp(10)}}, Marks: []Mark{{At: 4, Title: "half"}, {At: 4.01, Title: "other"}}}
	for i := range fewMarks {
		c.Marks = append(c.Marks, Mark{At: 1 + float64(i)/4, Title: "half"})
	}
	svg := c.Draw(size).SVG
	if lines := strings.Count(svg, `<g class="mark">`); lines != fewMarks+2 {
		t.Errorf("%d marks, want %d", lines, fewMarks+2)
	}
	if labels := strings.Count(svg, ">half</text>"); labels != 1 {
		t.Errorf("half is labelled %d times", labels)
	}
	if !strings.Contains(svg, ">other</text>") {
		t.Error("a mark beside another has no label")
	}
}
