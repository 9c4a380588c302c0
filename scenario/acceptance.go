package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
)

// lackWords is how many different reasons a sentence holds.
const lackWords = 2

// findUnaccepted tells of valid routes whose status never became current, by
// what it lacked to the last, out of so many.
func (t *Trial) findUnaccepted(lacks map[string]string, routes int) {
	if len(lacks) == 0 {
		return
	}
	reasons := map[string]int{}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		lack := cmp.Or(lacks[name], "no status at all")
		reasons[lack]++
		lines = append(lines, name+": "+lack)
	}
	words := tally(reasons, "%d× %s")
	if len(words) > lackWords {
		words = append(words[:lackWords], "others")
	}
	t.Find("not-accepted", result.Costly,
		fmt.Sprintf("the status of %d of %d valid routes never said, in the generation that was written, that they are accepted and their references resolved (%s); who waits for that waits for ever",
			len(lacks), routes, strings.Join(words, ", ")),
		result.Evidence{Name: "what the status lacked to the last", Text: excerpt(lines)})
}

// lacks are the routes whose status was not current within the limit.
func (p *propagation) lacks() map[string]string {
	all := map[string]string{}
	for _, r := range p.routes {
		if r.status < 0 {
			all[r.name] = r.lack
		}
	}
	return all
}

// current is since when the status of each route is current, of those where it
// was before routes were deleted: one that is accepted because others are gone
// was refused.
func (a *attachment) current(status *routeStatus) map[string]time.Time {
	all := status.instants()
	maps.DeleteFunc(all, func(_ string, at time.Time) bool { return !at.Before(a.down.began()) })
	return all
}

// lacks are the routes whose status was not current when they were deleted.
func (a *attachment) lacks() map[string]string {
	all := map[string]string{}
	current := a.current(a.status)
	for i := range a.up.sent {
		name := attachedName(i)
		if _, ok := current[name]; !ok {
			all[name] = a.status.lack(name)
		}
	}
	return all
}
