package marker

import (
	"fmt"
	"testing"
)

func TestInternedMarkersAreTheSame(t *testing.T) {
	var i Interner
	for _, f := range []*Fields{
		fields(),
		fields(RouteHeader, "a", GenerationHeader, "2", PodHeader, "echo-0", InstanceHeader, "77"),
		fields(RouteHeader, "a", GenerationHeader, "2", PodHeader, "echo-1", InstanceHeader, "77"),
		fields(RouteHeader, "a", GenerationHeader, "x"),
		fields(PodHeader, "echo-1"),
		fields(),
	} {
		if got, want := i.Marker(f), f.Marker(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestInterningAllocatesNothing(t *testing.T) {
	var i Interner
	a := fields(RouteHeader, "a", GenerationHeader, "2", PodHeader, "echo-0", InstanceHeader, "77")
	b := fields(RouteHeader, "b", GenerationHeader, "3", PodHeader, "echo-1", InstanceHeader, "78")
	i.Marker(a)
	i.Marker(b)
	if n := testing.AllocsPerRun(100, func() { i.Marker(a); i.Marker(b); i.Marker(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAnInternerStaysSmall(t *testing.T) {
	var i Interner
	for n := range 3 * internLimit {
		pod := fmt.Sprint("pod-", n)
		if got := i.Marker(fields(PodHeader, pod)).Pod; got != pod {
			t.Fatalf("got %q, want %q", got, pod)
		}
	}
	if len(i.texts) > internLimit {
		t.Errorf("%d texts are kept", len(i.texts))
	}
}
