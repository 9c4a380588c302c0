package scenariotest

import (
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario/stream"
)

// Answered is a hit with an answer of a route's generation, from a pod.
func Answered(lane int, due, took time.Duration, route string, generation int64, pod string) stream.Hit {
	return stream.Hit{Lane: lane, Due: due, Sent: due, Ended: due + took, Status: 200, Class: load.OK,
		Marker: marker.Marker{Route: route, Generation: generation, Pod: pod}}
}

// Refused is a hit with a status and no marker.
func Refused(lane int, due, took time.Duration, status int) stream.Hit {
	return stream.Hit{Lane: lane, Due: due, Sent: due, Ended: due + took, Status: status, Class: load.ClassOfStatus(status)}
}
