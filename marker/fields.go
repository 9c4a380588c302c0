package marker

// Fields collects the marker of one response from its header fields. It is
// meant to be reused: after its first uses it does not allocate.
type Fields struct {
	route, generation, pod, instance []byte
	duplicate                        bool
}

// Reset forgets the last response.
func (f *Fields) Reset() {
	f.route, f.generation = f.route[:0], f.generation[:0]
	f.pod, f.instance = f.pod[:0], f.instance[:0]
	f.duplicate = false
}

// Set takes one header field of the response. It copies the value, and ignores
// fields that are not part of a marker. A field that comes twice with two
// values makes the marker match nothing: two routes had their hands on it.
func (f *Fields) Set(name, value []byte) {
	place := f.place(name)
	if place == nil {
		return
	}
	if len(*place) > 0 && string(*place) != string(value) {
		f.duplicate = true
	}
	*place = append((*place)[:0], value...)
}

func (f *Fields) place(name []byte) *[]byte {
	switch len(name) {
	case len(RouteHeader):
		if equalFold(name, RouteHeader) {
			return &f.route
		}
	case len(GenerationHeader):
		if equalFold(name, GenerationHeader) {
			return &f.generation
		}
	case len(PodHeader):
		if equalFold(name, PodHeader) {
			return &f.pod
		}
	case len(InstanceHeader):
		if equalFold(name, InstanceHeader) {
			return &f.instance
		}
	}
	return nil
}

// Empty reports whether the response carried no marker at all.
func (f *Fields) Empty() bool {
	return len(f.route)+len(f.generation)+len(f.pod)+len(f.instance) == 0
}

// Match reports whether the response carries what want asks for. Fields of
// want that are empty are not compared, but for the generation, which is
// compared whenever want names a route.
func (f *Fields) Match(want *Marker) bool {
	if f.duplicate {
		return false
	}
	if want.Route != "" {
		generation, ok := parse(f.generation)
		if string(f.route) != want.Route || !ok || generation != want.Generation {
			return false
		}
	}
	return (want.Pod == "" || string(f.pod) == want.Pod) &&
		(want.Instance == "" || string(f.instance) == want.Instance)
}

// Marker returns a copy. A generation that is not a number is -1.
func (f *Fields) Marker() Marker {
	m := Marker{Route: string(f.route), Pod: string(f.pod), Instance: string(f.instance)}
	if len(f.generation) > 0 {
		var ok bool
		if m.Generation, ok = parse(f.generation); !ok {
			m.Generation = -1
		}
	}
	return m
}

// parse reads a decimal number of at most 18 digits, which cannot overflow.
func parse(digits []byte) (int64, bool) {
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = 10*n + int64(d-'0')
	}
	return n, true
}

// equalFold compares without regard to case. The names hold only letters and
// hyphens, and a hyphen differs from a carriage return in the bit that case
// does too; header parsers refuse names with a carriage return.
func equalFold(name []byte, want string) bool {
	if len(name) != len(want) {
		return false
	}
	for i := range want {
		if name[i]|0x20 != want[i]|0x20 {
			return false
		}
	}
	return true
}
