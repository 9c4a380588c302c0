package elasticlatency

import (
	"cmp"
	"slices"

	"github.com/gatemark/gatemark/scenario/stream"
)

// firsts finds the first answer that shows each event: of the route's new
// version, or of a pod that was not there before.
func (p *pass) firsts() {
	for _, h := range p.happenings {
		h.first = -1
	}
	ended := slices.Clone(p.hits)
	slices.SortFunc(ended, func(a, b stream.Hit) int { return cmp.Compare(a.Ended, b.Ended) })
	known, at := map[string]bool{}, -1
	for i := range ended {
		h := &ended[i]
		if !right(h) {
			continue
		}
		for at+1 < len(p.happenings) && h.Sent >= p.zero+p.happenings[at+1].at {
			at++
		}
		if at >= 0 && p.happenings[at].first < 0 {
			if e := p.happenings[at]; e.shownBy(h, known) {
				e.first = h.Ended - p.zero - e.at
			}
		}
		known[h.Marker.Pod] = true
	}
}

// shownBy: an answer shows the event. known are the backend's pods that have
// answered before it.
func (h *happening) shownBy(hit *stream.Hit, known map[string]bool) bool {
	switch {
	case h.route != nil:
		return hit.Marker.Generation == h.generation
	case h.certificate:
		return hit.Certificate == h.serial
	}
	return h.shows() && !known[hit.Marker.Pod]
}

// shows: an answer can show the event.
func (e *event) shows() bool { return e.kind != scaleDown && !e.gateway }
