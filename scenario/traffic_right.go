package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/load"
)

// A rightAnswer describes answers: those that a user should get in some state. Empty
// fields are not compared.
type rightAnswer struct {
	// status is exact, or 5 for any of 5xx; 0 is 200.
	status int
	// route and generation are the marker's. unmarked says that no route must
	// have marked the answer.
	route      string
	generation int64
	unmarked   bool
	// backends are the Deployments of which one must have answered.
	backends []string
	// pods are those of which one must have answered, notPods those that must
	// not.
	pods, notPods []string
	// certificate is the serial number that the connection must have been
	// opened with.
	certificate string
}

// shows reports whether a request ended with such an answer.
func (r *rightAnswer) shows(h *hit) bool {
	want := r.status
	if want == 0 {
		want = 200
	}
	if h.status != want && !(want == 5 && h.status/100 == 5) {
		return false
	}
	switch {
	case r.route != "" && (h.marker.Route != r.route || h.marker.Generation != r.generation),
		r.unmarked && h.marker.Route != "",
		r.certificate != "" && h.certificate != r.certificate,
		r.pods != nil && !slices.Contains(r.pods, h.marker.Pod),
		slices.Contains(r.notPods, h.marker.Pod):
		return false
	}
	return r.backends == nil || slices.ContainsFunc(r.backends, func(name string) bool { return podOf(h.marker.Pod, name) })
}

// podOf reports whether a pod is one of a Deployment's: NAME-HASH-SUFFIX.
func podOf(pod, deployment string) bool {
	rest, ok := strings.CutPrefix(pod, deployment+"-")
	return ok && strings.Count(rest, "-") == 1
}

// A shown is what the end of one request tells about a change.
type shown uint8

const (
	// showsEither is an answer that is right before the change and after it.
	showsEither shown = iota
	// showsNew is right after it alone.
	showsNew
	// showsOld is right before it alone.
	showsOld
	// showsWrong is never right: a user sees an error.
	showsWrong
	// showsNothing failed for reasons of our own.
	showsNothing
)

// tell holds the end of a request against what is right. A kept connection
// goes on with the certificate that it was opened with.
func tell(h *hit, fresh bool, before, after rightAnswer) shown {
	if !fresh {
		before.certificate, after.certificate = "", ""
	}
	isOld, isNew := before.shows(h), after.shows(h)
	switch {
	case isOld && isNew:
		return showsEither
	case isNew:
		return showsNew
	case isOld:
		return showsOld
	case h.class.Ours():
		return showsNothing
	}
	return showsWrong
}

// same reports whether two states have the same right answers, on such a
// connection.
func (r rightAnswer) same(other rightAnswer, fresh bool) bool {
	if fresh && r.certificate != other.certificate {
		return false
	}
	return r.status == other.status && r.route == other.route && r.generation == other.generation && r.unmarked == other.unmarked &&
		slices.Equal(r.backends, other.backends) && slices.Equal(r.pods, other.pods) && slices.Equal(r.notPods, other.notPods)
}

// within reports whether every answer of r is one of other too: then no answer
// can show that r has begun, and only the end of the others does.
func (r rightAnswer) within(other rightAnswer) bool {
	if other.backends == nil || r.backends == nil {
		return false
	}
	backends := other.backends
	other.backends = r.backends
	return r.same(other, true) && !slices.ContainsFunc(r.backends, func(b string) bool { return !slices.Contains(backends, b) })
}

// what names the end of a request for people: "status 503", "reset".
func (h *hit) what() string {
	switch {
	case h.status == 0:
		return h.class.String()
	case h.status == 200 && (h.class == load.OK || h.class == load.WrongMarker):
		return "answer from elsewhere"
	}
	return fmt.Sprintf("status %d", h.status)
}
