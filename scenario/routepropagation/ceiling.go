package routepropagation

import (
	"fmt"

	"github.com/gatemark/gatemark/result"
)

// unserved is how many routes, up to the last one, no replica ever served.
func (p *propagation) unserved() int {
	n := 0
	for n < len(p.routes) && p.routes[len(p.routes)-1-n].outcome.First(p.options().Connections).IsZero() {
		n++
	}
	return n
}

// findCeiling tells routes that are not served because there are others from
// those that are not served for a reason of their own.
func (p *propagation) findCeiling() {
	beyond := p.unserved()
	within := len(p.routes) - beyond
	if beyond < hopeless || within == 0 {
		return
	}
	accepted := 0
	for _, r := range p.routes[within:] {
		if r.status >= 0 {
			accepted++
		}
	}
	said := fmt.Sprintf("while the status of %d of these said that they were accepted", accepted)
	if accepted == 0 {
		said = "and the status of none of these said that it was accepted"
	}
	p.Find("ceiling", result.Broken,
		fmt.Sprintf("no new route was served any more once there were %d: each of the next %d was waited for %s, %s",
			within, beyond, p.Values.Duration("limit"), said),
		result.Evidence{Name: "routes", Text: fmt.Sprintf("the last one that was served: %s\nthe first one that was not: %s", p.routes[within-1].name, p.routes[within].name)})
}
