package marker

import (
	"bytes"
	"strings"
)

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

// Copy makes f what other is.
func (f *Fields) Copy(other *Fields) {
	f.route, f.generation = append(f.route[:0], other.route...), append(f.generation[:0], other.generation...)
	f.pod, f.instance = append(f.pod[:0], other.pod...), append(f.instance[:0], other.instance...)
	f.duplicate = other.duplicate
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
	if len(name) < len(PodHeader) || name[0]|0x20 != 'g' {
		return nil
	}
	switch {
	case routeName.is(name):
		return &f.route
	case generationName.is(name):
		return &f.generation
	case podName.is(name):
		return &f.pod
	case instanceName.is(name):
		return &f.instance
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

// A name is a header field's name as HTTP/1.1 has it and as HTTP/2 and most
// proxies do.
type name struct{ canonical, lower string }

var (
	routeName      = name{RouteHeader, strings.ToLower(RouteHeader)}
	generationName = name{GenerationHeader, strings.ToLower(GenerationHeader)}
	podName        = name{PodHeader, strings.ToLower(PodHeader)}
	instanceName   = name{InstanceHeader, strings.ToLower(InstanceHeader)}
)

// is compares without regard to case. Two spellings are nearly all that there
// is, and comparing with them is cheap.
func (n *name) is(got []byte) bool {
	return string(got) == n.lower || string(got) == n.canonical ||
		len(got) == len(n.lower) && bytes.EqualFold(got, []byte(n.lower))
}
