package stream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/load"
)

// A Answer describes answers: those that a user should get in some state. Empty
// fields are not compared.
type Answer struct {
	// Status is exact, or 5 for any of 5xx; 0 is 200.
	Status int
	// Route and generation are the marker's. unmarked says that no route must
	// have marked the answer.
	Route      string
	Generation int64
	Unmarked   bool
	// Backends are the Deployments of which one must have answered.
	Backends []string
	// Pods are those of which one must have answered, notPods those that must
	// not.
	Pods, NotPods []string
	// Certificate is the serial number that the connection must have been
	// opened with.
	Certificate string
	// Closed is a connection that was closed, in place of any answer.
	Closed bool
	// Lasting says that a connection goes on as it was opened, whatever changes:
	// one that is kept shows nothing of a change.
	Lasting bool
}

// shows reports whether a request ended with such an answer.
func (r *Answer) shows(h *Hit) bool {
	if r.Closed {
		return h.Class == load.TLS || h.Class == load.EOF || h.Class == load.Reset
	}
	want := r.Status
	if want == 0 {
		want = 200
	}
	if h.Status != want && !(want == 5 && h.Status/100 == 5) {
		return false
	}
	switch {
	case r.Route != "" && (h.Marker.Route != r.Route || h.Marker.Generation != r.Generation),
		r.Unmarked && h.Marker.Route != "",
		r.Certificate != "" && h.Certificate != r.Certificate,
		r.Pods != nil && !slices.Contains(r.Pods, h.Marker.Pod),
		slices.Contains(r.NotPods, h.Marker.Pod):
		return false
	}
	return r.Backends == nil || slices.ContainsFunc(r.Backends, func(name string) bool { return podOf(h.Marker.Pod, name) })
}

// podOf reports whether a pod is one of a Deployment's: NAME-HASH-SUFFIX.
func podOf(pod, deployment string) bool {
	rest, ok := strings.CutPrefix(pod, deployment+"-")
	return ok && strings.Count(rest, "-") == 1
}

// A Shown is what the end of one request tells about a change.
type Shown uint8

const (
	// ShowsEither is an answer that is right before the change and after it.
	ShowsEither Shown = iota
	// ShowsNew is right after it alone.
	ShowsNew
	// ShowsOld is right before it alone.
	ShowsOld
	// ShowsWrong is never right: a user sees an error.
	ShowsWrong
	// ShowsNothing failed for reasons of our own.
	ShowsNothing
)

// Tell holds the end of a request against what is right. A kept connection
// goes on with the certificate that it was opened with.
func Tell(h *Hit, fresh bool, before, after Answer) Shown {
	if !fresh {
		before.Certificate, after.Certificate = "", ""
	}
	isOld, isNew := before.shows(h), after.shows(h)
	switch {
	case isOld && isNew, (isOld || isNew) && !fresh && before.Lasting:
		return ShowsEither
	case isNew:
		return ShowsNew
	case isOld:
		return ShowsOld
	case h.Class.Ours():
		return ShowsNothing
	}
	return ShowsWrong
}

// same reports whether two states have the same right answers, on such a
// connection.
func (r Answer) same(other Answer, fresh bool) bool {
	if fresh && r.Certificate != other.Certificate {
		return false
	}
	if !fresh && r.Lasting {
		return true
	}
	return r.Status == other.Status && r.Closed == other.Closed && r.Route == other.Route && r.Generation == other.Generation && r.Unmarked == other.Unmarked &&
		slices.Equal(r.Backends, other.Backends) && slices.Equal(r.Pods, other.Pods) && slices.Equal(r.NotPods, other.NotPods)
}

// within reports whether every answer of r is one of other too: then no answer
// can show that r has begun, and only the end of the others does.
func (r Answer) within(other Answer) bool {
	if other.Backends == nil || r.Backends == nil {
		return false
	}
	backends := other.Backends
	other.Backends = r.Backends
	return r.same(other, true) && !slices.ContainsFunc(r.Backends, func(b string) bool { return !slices.Contains(backends, b) })
}

// What names the end of a request for people: "status 503", "reset".
func (h *Hit) What() string {
	switch {
	case h.Status == 0:
		return h.Class.String()
	case h.Status == 200 && (h.Class == load.OK || h.Class == load.WrongMarker):
		return "answer from elsewhere"
	}
	return fmt.Sprintf("status %d", h.Status)
}
