package scenario

import (
	"fmt"

	"github.com/gatemark/gatemark/measure/audit"
	"github.com/gatemark/gatemark/result"
)

const (
	// manyWrites to a Gateway's status, and this many for each route that came
	// or went, are writes of single changes, which could have been one.
	manyWrites, manyPerChange = 100, 0.5
	// idleWrites change nothing, and are this share of all.
	idleWrites, idleShare = 10, 0.2
)

// Find looks for status writes of some that need not have been. routes is how
// many were created and deleted.
func (w *StatusWrites) Find(r audit.Report, by func(audit.Writer) bool, routes int) {
	changes := float64(2 * routes)
	if n := r.By(by, "gateways").Writes; n >= manyWrites && float64(n) >= manyPerChange*changes {
		w.Trial.Find("many-writes", result.Costly,
			fmt.Sprintf("the Gateway's status was written %d times while %d routes came and went, %.1f times for each change: every write costs the API server, and wakes whoever watches the Gateway",
				n, routes, float64(n)/changes),
			result.Evidence{Name: "status writes to the Gateway", Text: writers(r, func(c audit.Counts) int { return c.Writes }, "gateways")})
	}
	total := r.By(by, "")
	if all := total.Writes + total.NoOps; !r.Inferred && total.NoOps >= idleWrites && float64(total.NoOps) >= idleShare*float64(all) {
		w.Trial.Find("idle-writes", result.Notable,
			fmt.Sprintf("%d of %d status writes changed nothing: each is work for the API server all the same", total.NoOps, all),
			result.Evidence{Name: "writes that changed nothing", Text: writers(r, func(c audit.Counts) int { return c.NoOps }, "")})
	}
}

// writers lists who made writes of some sort, to one kind or to all.
func writers(r audit.Report, of func(audit.Counts) int, kind string) string {
	var lines []string
	for _, writer := range r.Writers {
		counts := writer.Total
		if kind != "" {
			counts = writer.Kinds[kind]
		}
		if n := of(counts); n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d", writer.Name, n))
		}
	}
	return Excerpt(lines)
}
