package marker

import "testing"

func fields(pairs ...string) *Fields {
	f := new(Fields)
	for i := 0; i < len(pairs); i += 2 {
		f.Set([]byte(pairs[i]), []byte(pairs[i+1]))
	}
	return f
}

func TestMatch(t *testing.T) {
	full := []string{RouteHeader, "a", GenerationHeader, "2", PodHeader, "echo-0", InstanceHeader, "77"}
	cases := []struct {
		name string
		got  *Fields
		want Marker
		ok   bool
	}{
		{"route and generation", fields(full...), Expect("a", 2), true},
		{"another generation", fields(full...), Expect("a", 1), false},
		{"another route", fields(full...), Expect("b", 2), false},
		{"route that only begins alike", fields(full...), Expect("aa", 2), false},
		{"names in lower case, as HTTP/2 has them", fields("gatemark-route", "a", "gatemark-generation", "2"), Expect("a", 2), true},
		{"no marker", fields("Server", "x"), Expect("a", 2), false},
		{"no generation", fields(RouteHeader, "a"), Expect("a", 0), false},
		{"generation is no number", fields(RouteHeader, "a", GenerationHeader, "2x"), Expect("a", 2), false},
		{"generation too long to hold", fields(RouteHeader, "a", GenerationHeader, "9999999999999999999"), Expect("a", 2), false},
		{"two routes", fields(RouteHeader, "b", RouteHeader, "a", GenerationHeader, "2"), Expect("a", 2), false},
		{"the same field twice", fields(RouteHeader, "a", RouteHeader, "a", GenerationHeader, "2"), Expect("a", 2), true},
		{"pod asked for", fields(full...), Marker{Route: "a", Generation: 2, Pod: "echo-0"}, true},
		{"another pod", fields(full...), Marker{Route: "a", Generation: 2, Pod: "echo-1"}, false},
		{"instance alone", fields(full...), Marker{Instance: "77"}, true},
		{"another instance", fields(full...), Marker{Instance: "78"}, false},
		{"nothing asked for", fields(), Marker{}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.got.Match(&c.want); got != c.ok {
				t.Errorf("%v matches %v: got %v", c.got.Marker(), c.want, got)
			}
		})
	}
}

func TestFieldsAreReused(t *testing.T) {
	f := fields(RouteHeader, "a", RouteHeader, "b", GenerationHeader, "1", PodHeader, "p")
	f.Reset()
	if !f.Empty() || f.Marker() != (Marker{}) {
		t.Fatalf("after Reset: %v", f.Marker())
	}
	name, value, want := []byte(RouteHeader), []byte("a"), Expect("a", 3)
	generation, three := []byte(GenerationHeader), []byte("3")
	allocations := testing.AllocsPerRun(100, func() {
		f.Reset()
		f.Set(name, value)
		f.Set(generation, three)
		if !f.Match(&want) {
			t.Fatal("no match")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations for each response", allocations)
	}
}

func TestMarkerText(t *testing.T) {
	m := Marker{Route: "a", Generation: 2, Pod: "echo-0", Instance: "77"}
	if got, want := m.String(), "route a generation 2 from pod echo-0 instance 77"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Marker{}).String(), "no marker"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := fields(RouteHeader, "a", GenerationHeader, "x").Marker().Generation; got != -1 {
		t.Errorf("a generation that is no number: got %d, want -1", got)
	}
}

func TestFilterMakesItsOwnMarker(t *testing.T) {
	want := Expect("infra/a", 7)
	f := new(Fields)
	for _, field := range want.Filter() {
		f.Set([]byte(field[0]), []byte(field[1]))
	}
	if !f.Match(&want) {
		t.Errorf("filter of %v makes %v", want, f.Marker())
	}
}
