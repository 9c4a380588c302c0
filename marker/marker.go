// Package marker says where a response came from.
//
// Requests ask and responses tell, both in header fields that begin with
// "Gatemark-". A route under test sets Gatemark-Route and Gatemark-Generation
// on the request with a RequestHeaderModifier filter, which every Gateway API
// implementation must support. The echo backend reflects both and adds its own
// Gatemark-Pod and Gatemark-Instance. So a response proves which route served
// it, in which generation, and which backend answered. A response that an
// implementation makes up by itself carries none of them.
package marker

import (
	"fmt"
	"strconv"
	"strings"
)

// Header fields that a route sets on the request and echo reflects.
const (
	// RouteHeader names the route that served the request.
	RouteHeader = "Gatemark-Route"
	// GenerationHeader is the route's generation, a decimal integer that
	// gatemark counts up with each change that it makes.
	GenerationHeader = "Gatemark-Generation"
)

// Header fields that echo sets on the response.
const (
	// PodHeader names the backend pod.
	PodHeader = "Gatemark-Pod"
	// InstanceHeader tells two starts of one backend pod apart.
	InstanceHeader = "Gatemark-Instance"
	// AppliedHeader is the delay that echo really applied to this request, in
	// nanoseconds: from the request's last byte read to the response's write.
	AppliedHeader = "Gatemark-Delay-Applied"
)

// Header fields with which a request asks echo for something.
const (
	// SizeHeader asks for a response body of this many bytes.
	SizeHeader = "Gatemark-Size"
	// DelayHeader asks for a delay, as Go writes durations: "5ms".
	DelayHeader = "Gatemark-Delay"
	// StatusHeader asks for a status, 200 to 599.
	StatusHeader = "Gatemark-Status"
)

// Prefix is what the names of all header fields of this package begin with.
const Prefix = "Gatemark-"

// A Marker is what one response tells about its origin. Empty fields were not
// told, or are not asked for.
type Marker struct {
	Route      string `json:"route,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	Pod        string `json:"pod,omitempty"`
	Instance   string `json:"instance,omitempty"`
}

// Expect is the marker of a response that a route served in a generation, from
// whichever backend.
func Expect(route string, generation int64) Marker {
	return Marker{Route: route, Generation: generation}
}

// Filter returns the header fields that a route must set on requests so that
// responses carry its marker, in a fixed order.
func (m Marker) Filter() [][2]string {
	return [][2]string{
		{RouteHeader, m.Route},
		{GenerationHeader, strconv.FormatInt(m.Generation, 10)},
	}
}

// String is for people: "route a generation 2 from pod echo-0".
func (m Marker) String() string {
	var parts []string
	if m.Route != "" {
		parts = append(parts, "route "+m.Route, fmt.Sprintf("generation %d", m.Generation))
	}
	if m.Pod != "" {
		parts = append(parts, "from pod "+m.Pod)
	}
	if m.Instance != "" {
		parts = append(parts, "instance "+m.Instance)
	}
	if len(parts) == 0 {
		return "no marker"
	}
	return strings.Join(parts, " ")
}
