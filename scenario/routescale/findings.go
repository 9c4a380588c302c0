package routescale

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

const (
	// slowSingle is how long a single change may take among many routes, and
	// slowGrowth by how much longer than among few.
	slowSingle, slowGrowth = 2.0, 4.0
)

func (s *scaling) findings() {
	s.findUnready()
	s.findCeiling()
	s.findIgnored()
	s.findUnaccepted()
	s.findStale()
	for _, a := range s.again {
		s.findRestart(a)
	}
	s.findDeleted()
	s.findSlow()
	for _, role := range planes {
		s.findLeak(role)
		s.findKept(role)
	}
}

// findCeiling: the failing condition, and whether anybody said so.
func (s *scaling) findCeiling() {
	c := s.ceiling
	if !c.is() {
		return
	}
	var text string
	if c.served == 0 {
		text = fmt.Sprintf("no new route comes into force any more once there are %d: of %d that were created, %d are served, and none of %d further ones was within %s", c.routes, c.of, c.routes, lateRoutes, c.waited)
	} else {
		text = fmt.Sprintf("the status of no new route becomes current any more once there are %d: that of none of %d further ones did within %s, though %d of them are served", c.of, lateRoutes, c.waited, c.served)
	}
	s.Find("ceiling", result.Broken, text+"; "+c.frozen()+"; "+c.said(),
		result.Evidence{Name: "what the status of routes lacked", Text: orNothing(scenario.Tally(c.words, "%d× %s"))},
		result.Evidence{Name: "conditions of the Gateway that are not true", Text: orNothing(c.gateway)},
		result.Evidence{Name: "status of a route that is not served", Text: c.status})
}

func orNothing(lines []string) string {
	if len(lines) == 0 {
		return "nothing"
	}
	return scenario.Excerpt(lines)
}

// frozen says what else still comes into force.
func (c *ceiling) frozen() string {
	switch {
	case !c.tried:
		return "no route was served that could be changed or deleted"
	case !c.edited && !c.deleted:
		return "everything is frozen: a change to a route that is served is not taken, and a deleted one goes on being served"
	case !c.edited:
		return "a change to a route that is served is not taken either, a deletion is"
	case !c.deleted:
		return "a change to a route that is served is still taken, a deletion is not"
	}
	return "changes to routes that are served, and deletions, are still taken"
}

// said tells whether the implementation did.
func (c *ceiling) said() string {
	var words []string
	for _, line := range scenario.Tally(c.words, "%d× %s") {
		words = append(words, line)
	}
	words = append(words, c.gateway...)
	switch {
	case c.unserved > 0 && c.silent == c.unserved && len(c.gateway) == 0:
		return fmt.Sprintf("it is silent about that: the status of all %d routes that are not served says that they are accepted", c.unserved)
	case c.silent > 0:
		return fmt.Sprintf("the status of %d of %d routes that are not served says that they are accepted all the same (otherwise: %s)", c.silent, c.unserved, orNothing(words))
	case len(words) > 0:
		return "the status says: " + strings.Join(words[:min(len(words), 3)], "; ")
	}
	return "no status says anything about it"
}

// findUnready: listeners that never were.
func (s *scaling) findUnready() {
	if s.unready == "" {
		return
	}
	s.Find("sets-not-ready", result.Broken,
		fmt.Sprintf("not all of %d ListenerSets were accepted and programmed within %s: %s", len(s.sets), s.Values.Duration("limit"), s.unready),
		result.Evidence{Name: "what was lacking", Text: s.unready})
}

// findIgnored: routes that are not served while others are.
func (s *scaling) findIgnored() {
	full := s.full()
	if s.ceiling.is() || len(full.bad) == 0 {
		return
	}
	accepted := 0
	instants := s.status.Instants()
	for r := range full.bad {
		if _, ok := instants[r.name]; ok {
			accepted++
		}
	}
	s.Find("ignored", result.Broken,
		fmt.Sprintf("%d of %d routes were not answered by themselves on every replica when all were there (%s), though the status of %d of these says that they are accepted: what the others cost is too little by as much",
			len(full.bad), full.routes, strings.Join(full.Words(), ", "), accepted),
		result.Evidence{Name: "answers", Text: scenario.Excerpt(full.Examples)})
}

func (s *scaling) findUnaccepted() {
	if s.ceiling.is() {
		return
	}
	lacks, instants := map[string]string{}, s.status.Instants()
	for _, r := range s.routes {
		if _, ok := instants[r.name]; !ok {
			lacks[r.name] = s.status.Lack(r.name)
		}
	}
	s.FindUnaccepted(lacks, len(s.routes), s.Values.Duration("limit"))
}

// findStale: what was changed is not in force.
func (s *scaling) findStale() {
	stale := s.churned.stale
	if len(stale) == 0 {
		return
	}
	kinds := map[string]int{}
	for _, what := range stale {
		kind, _, _ := strings.Cut(what, " on ")
		kinds[kind]++
	}
	s.Find("stale-after-changes", result.Broken,
		fmt.Sprintf("%s after the last of %d changes, %d of %d routes were not as they were to be (%s)",
			s.Values.Duration("limit"), s.churned.done, len(stale), s.churned.waited, strings.Join(scenario.Tally(kinds, "%d× %s"), ", ")),
		result.Evidence{Name: "routes", Text: lines(stale)})
}

func lines(of map[*route]string) string {
	var all []string
	for r, what := range of {
		all = append(all, r.name+": "+what)
	}
	slices.Sort(all)
	return scenario.Excerpt(all)
}

func (s *scaling) findRestart(a *restarted) {
	if n := scenario.Total(a.early); n > 0 {
		s.Find("ready-early", result.Broken,
			fmt.Sprintf("when the data plane was restarted with %d routes, new pods were given users before they had all of them: %d of %d questions were answered wrongly (%s), the last of them %s after",
				a.routes, n, a.asked, strings.Join(scenario.Tally(a.early, "%d× %s"), ", "), scenario.Seconds(a.until.Seconds())),
			result.Evidence{Name: "first wrong answers of new pods", Text: scenario.Excerpt(a.examples)})
	}
	if math.IsInf(a.ready, 1) || math.IsInf(a.complete, 1) {
		what := "a change that was made at once was not in force, or its pods were not ready,"
		if a.plane == scenario.DataPlaneRole {
			what = "not all new pods were there and served every route"
		}
		s.Find("never-back-"+a.plane, result.Broken,
			fmt.Sprintf("when the %s was restarted with %d routes, %s within %s", words(a.plane), a.routes, what, s.Values.Duration("limit")),
			result.Evidence{Name: "seconds", Text: fmt.Sprintf("ready after %s, complete after %s", scenario.Seconds(a.ready), scenario.Seconds(a.complete))})
		return
	}
	lost := 0
	for r := range a.lost.bad {
		if !r.unserved && s.churned.stale[r] == "" {
			lost++
		}
	}
	if lost > 0 {
		s.Find("lost-"+a.plane, result.Broken,
			fmt.Sprintf("after the restart of the %s, %d of %d routes that had been served were not answered rightly (%s)", words(a.plane), lost, a.routes, strings.Join(a.lost.Words(), ", ")),
			result.Evidence{Name: "answers", Text: scenario.Excerpt(a.lost.Examples)})
	}
}

func (s *scaling) findDeleted() {
	if n := len(s.deleted.served); n > 0 {
		s.Find("deleted-served", result.Broken,
			fmt.Sprintf("%s after the last of %d routes was deleted, %d of them were still served", s.Values.Duration("limit"), s.deleted.routes, n),
			result.Evidence{Name: "routes", Text: lines(s.deleted.served)})
	}
}

// findSlow: single changes take longer the more routes there are, or while
// others change.
func (s *scaling) findSlow() {
	few := stat.Median(s.took(withFew))
	for _, one := range []struct{ id, when, say string }{
		{"slow-with-many", withAll, "among %d routes a single change takes %s until every replica serves it, and took %s among few"},
		{"slow-while-changing", whileChanging, "while others of %d routes change, a single change takes %s until every replica serves it, and took %s when there were few"},
	} {
		took := stat.Median(s.took(one.when))
		if !(took > slowSingle && took > slowGrowth*few) { // NaN, too
			continue
		}
		routes := 0
		var text []string
		for _, each := range s.singles {
			if each.when == one.when {
				routes = each.routes
			}
			text = append(text, fmt.Sprintf("%s, %d routes: %s", each.when, each.routes, scenario.Seconds(each.took)))
		}
		s.Find(one.id, result.Costly, fmt.Sprintf(one.say+", in the median", routes, scenario.Seconds(took), scenario.Seconds(few)),
			result.Evidence{Name: "single changes", Text: scenario.Excerpt(text)})
	}
}

const mib = 1 << 20

func (s *scaling) findLeak(role string) {
	l := s.leakIn(role)
	if !l.is() {
		return
	}
	slope := l.whole.Slope
	text := fmt.Sprintf("the memory of the %s grows without an end in sight while the same %d routes are changed: by %.3g MiB a minute (%.3g to %.3g, at %.0f %% confidence), over %s, at %.0f MiB",
		words(role), s.of(changing).routes, slope.Center*60/mib, slope.Lo*60/mib, slope.Hi*60/mib, 100*slope.Confidence, scenario.Seconds(l.seconds), l.level/mib)
	if rest := s.of(atRestChanged).memory(role); !math.IsNaN(rest) {
		text += fmt.Sprintf("; at rest afterwards it had %.0f MiB", rest/mib)
	}
	s.Find("leak-"+role, result.Costly, text, result.Evidence{Name: "slope, bytes a second", Text: fmt.Sprintf("all: %.0f (%.0f to %.0f), p %.2g, %d samples that count as %d; later half: %.0f",
		slope.Center, slope.Lo, slope.Hi, l.whole.P, l.whole.N, l.whole.Effective, l.late.Slope.Center)})
}

// findKept: what was taken is not given back.
func (s *scaling) findKept(role string) {
	kept, took := s.kept(role)
	rest := s.Values.Duration("rest")
	if !(took >= keptFloor && kept >= keptShare*took) || rest.Seconds() < keptRest { // NaN, too
		return
	}
	s.Find("memory-kept-"+role, result.Notable,
		fmt.Sprintf("of %.0f MiB that the %s took for %d routes, it still has %.0f MiB %s after they were deleted", took/mib, words(role), s.deleted.routes, kept/mib, rest),
		result.Evidence{Name: "working sets, MiB", Text: fmt.Sprintf("before %.0f, with all routes %.0f, after the deletion %.0f", s.of(atRestBefore).memory(role)/mib, s.of(atRestFull).memory(role)/mib, s.of(atRestDeleted).memory(role)/mib)})
}
