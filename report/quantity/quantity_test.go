package quantity

import (
	"math"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	cases := []struct {
		v    float64
		unit string
		want string
	}{
		{0.0123, "s", "12.3 ms"},
		{1.42, "s", "1.42 s"},
		{0.9994, "s", "999 ms"},
		{0.9996, "s", "1.00 s"}, // never 1000 ms
		{math.Nextafter(1, 0), "s", "1.00 s"},
		{0, "s", "0 s"},
		{59.94, "s", "59.9 s"},
		{300, "s", "300 s"},
		{599.6, "s", "9.99 min"},
		{4 * 3600, "s", "4.00 h"},
		{0.000000012, "s", "12.0 ns"},
		{-0.0123, "s", "-12.3 ms"},
		{350e6, "B", "350 MB"},
		{1.3547e9, "B", "1.35 GB"},
		{0, "B", "0 B"},
		{512, "B", "512 B"},
		{3000, "1", "3,000"},
		{1234567, "1", "1,234,567"},
		{2.5, "1", "2.50"},
		{-1234, "1", "-1,234"},
		{9876.4, "1/s", "9,880/s"},
		{0.125, "1/s", "0.125/s"},
		{0, "ratio", "0 %"},
		{1, "ratio", "100 %"},
		{0.5, "ratio", "50.0 %"},
		{0.99996, "ratio", "99.996 %"},
		{1 - 1e-7, "ratio", "99.99999 %"},
		{math.Nextafter(1, 0), "ratio", "<100 %"},
		{1e-6, "ratio", "0.000100 %"},
		{1e-9, "ratio", "1.00e-07 %"},
		{1.5, "ratio", "150 %"},
		{12.34, "cores", "12.3 cores"},
		{0, "cores", "0 cores"},
		{math.NaN(), "s", "–"},
		{math.Inf(1), "s", "∞ s"},
	}
	for _, c := range cases {
		if got := Write(c.v, c.unit); got != c.want {
			t.Errorf("%v %s: got %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestNothingButAllIsHundredPercent(t *testing.T) {
	for n := 2; n < 10_000_000; n *= 3 {
		if got := Write(1-1/float64(n), "ratio"); strings.HasPrefix(got, "100") {
			t.Errorf("1 missing of %d is written %q", n, got)
		}
		if got := Write(1/float64(n), "ratio"); strings.HasPrefix(got, "0 ") {
			t.Errorf("1 of %d is written %q", n, got)
		}
	}
}

func TestNumbersSideBySideShareAScale(t *testing.T) {
	scale := For(1.2, "s")
	if got := scale.Number(0.95) + "–" + scale.Number(1.4); got != "0.950–1.40" {
		t.Error(got)
	}
}

func TestSetting(t *testing.T) {
	for v, want := range map[float64]string{30: "30 s", 0.25: "250 ms", 1.5: "1.5 s", 300: "300 s"} {
		if got := Setting(v, "s"); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0 s", 4.23: "4.2 s", 59.97: "60 s", 60: "1 min", 185.4: "3 min 5 s", 3725: "1 h 2 min", math.NaN(): "–",
	} {
		if got := Duration(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	if got := Plural(1, "trial", "trials") + ", " + Plural(0, "trial", "trials") + ", " + Plural(1200, "trial", "trials"); got != "1 trial, 0 trials, 1,200 trials" {
		t.Error(got)
	}
}
