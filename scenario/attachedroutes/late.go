package attachedroutes

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// countNoticed is how long after the last write a count may be wrong.
const countNoticed = 2 * time.Second

// findLateCounts looks at counts that became right, too late for whoever reads
// them: those that never did are wrong.
func (a *attachment) findLateCounts() {
	var late, lines []string
	for _, p := range []struct {
		*phase
		verb string
	}{{&a.up, "created"}, {&a.down, "deleted"}} {
		done := p.complete()
		if done.IsZero() {
			continue
		}
		lag := done.Sub(p.lastAnswered())
		lines = append(lines, fmt.Sprintf("%s: right %s after the last write was answered", p.verb, scenario.Seconds(lag.Seconds())))
		if lag > countNoticed {
			late = append(late, fmt.Sprintf("%s after the last of %d routes was %s", scenario.Seconds(lag.Seconds()), len(p.sent), p.verb))
		}
	}
	if len(late) == 0 {
		return
	}
	a.Find("count-late", result.Notable, "attachedRoutes was right on every listener only "+strings.Join(late, ", and "),
		result.Evidence{Name: "counts", Text: strings.Join(lines, "\n")})
}
