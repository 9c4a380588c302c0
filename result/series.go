package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// A Series is raw data in columns of equal length, one row a sample.
type Series struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
}

// A Column is one variable of a series: numbers or labels, not both.
type Column struct {
	Name   string   `json:"name"`
	Title  string   `json:"title,omitempty"`
	Unit   string   `json:"unit,omitempty"`
	Values Numbers  `json:"values,omitempty"`
	Labels []string `json:"labels,omitempty"`
}

// Len is the number of rows.
func (s Series) Len() int {
	n := 0
	for _, c := range s.Columns {
		n = max(n, len(c.Values), len(c.Labels))
	}
	return n
}

// Column returns the column of that name, and whether there is one.
func (s Series) Column(name string) (Column, bool) {
	for _, c := range s.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}

// Validate reports columns whose length differs from the first one's.
func (s Series) Validate() error {
	n := s.Len()
	for _, c := range s.Columns {
		if got := max(len(c.Values), len(c.Labels)); got != n {
			return fmt.Errorf("series %s: column %s has %d rows, others %d", s.Name, c.Name, got, n)
		}
	}
	return nil
}

// Numbers is a list of float64 that writes NaN and infinities, "missing", as
// null, and reads null as NaN.
type Numbers []float64

// MarshalJSON writes missing values as null.
func (n Numbers) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, v := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b.WriteString("null")
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

// UnmarshalJSON reads null as NaN.
func (n *Numbers) UnmarshalJSON(data []byte) error {
	var values []*float64
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*n = make(Numbers, len(values))
	for i, v := range values {
		(*n)[i] = math.NaN()
		if v != nil {
			(*n)[i] = *v
		}
	}
	return nil
}

// A Figure says how to draw series: the scenario knows what matters, the
// report knows how to draw.
type Figure struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Caption says what to see in it.
	Caption string `json:"caption,omitempty"`
	// Kind is line, step, scatter or ecdf (the share of samples at or below x;
	// Y is then not used).
	Kind   string `json:"kind"`
	XTitle string `json:"xTitle"`
	YTitle string `json:"yTitle"`
	XUnit  string `json:"xUnit,omitempty"`
	YUnit  string `json:"yUnit,omitempty"`
	// LogX and LogY ask for logarithmic axes.
	LogX  bool   `json:"logX,omitempty"`
	LogY  bool   `json:"logY,omitempty"`
	Lines []Line `json:"lines"`
	// Events draws the trial's events of these names as vertical marks.
	Events []string `json:"events,omitempty"`
}

// A Line is one curve or cloud of a figure.
type Line struct {
	Title string `json:"title"`
	// Series and the columns X and Y name the data in the same trial.
	Series string `json:"series"`
	X      string `json:"x"`
	Y      string `json:"y,omitempty"`
}
