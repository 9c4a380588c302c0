package planerestart

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
	"github.com/gatemark/gatemark/stat"
)

// slowChange is how long a change may wait for a control plane that was
// restarted, in the median.
const slowChange = 5 * time.Second

func (r *restarts) findings() {
	r.findWithoutEvent()
	for _, k := range r.kinds {
		if k.notServed != "" {
			r.Find("not-served-"+k.kind.name, result.Broken, fmt.Sprintf("users were not served before the first event of the kind %s: %s", k.kind.name, k.notServed),
				result.Evidence{Name: "answers", Text: k.notServed})
		}
	}
	for _, s := range r.steps() {
		if s.name == control {
			continue
		}
		r.findErrors(s)
		r.findEarly(s)
		r.findNeverBack(s)
		r.findChanges(s)
		r.findSockets(s)
	}
}

// findWithoutEvent: what happens without an event is nobody's doing here, and
// makes it doubtful what events do.
func (r *restarts) findWithoutEvent() {
	requests, errors := r.base()
	if errors == 0 {
		return
	}
	all := map[string]int{}
	var examples []string
	add := func(saw usersSaw) {
		for what, n := range saw.both() {
			all[what] += n
		}
		examples = append(examples, saw.examples...)
	}
	for _, k := range r.kinds {
		add(k.rest)
	}
	for _, s := range r.steps() {
		if s.name == control {
			add(s.sum())
		}
	}
	r.Find("errors-without-event", result.Broken,
		fmt.Sprintf("while nothing happened, users got %d %s (%s) in %d requests; errors at events are put down to them only where there are clearly more",
			errors, scenario.Plural(errors, "error"), words(all), requests),
		result.Evidence{Name: "counts", Text: scenario.Excerpt(append(scenario.Tally(all, "%d times %s"), examples...))})
}

func words(counts map[string]int) string {
	return strings.Join(scenario.Tally(counts, "%d× %s"), ", ")
}

// base is what users saw while nothing happened.
func (r *restarts) base() (requests, errors int) {
	for _, k := range r.kinds {
		requests += k.rest.all()
		errors += k.rest.failed()
	}
	for _, s := range r.steps() {
		if saw := s.sum(); s.name == control {
			requests += saw.all()
			errors += saw.failed()
		}
	}
	return requests, errors
}

// beyond reports whether so many errors are more than what happens without an
// event.
func (r *restarts) beyond(saw *usersSaw) bool {
	n, e := r.base()
	return stream.Beyond(saw.failed(), saw.all(), e, n)
}

// often says how many events there were: "2 times".
func (s *stepSeen) often() string {
	if len(s.events) == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", len(s.events))
}

func (r *restarts) findErrors(s *stepSeen) {
	saw := s.sum()
	if !r.beyond(&saw) || saw.longest <= s.cut && s.cut > 0 {
		return
	}
	r.Find("errors-"+s.name, result.Broken,
		fmt.Sprintf("while %s (%s), users got %d %s (%s) in %d requests, at %d of %d events: %d on kept connections, %d on new ones; the longest row of errors lasted %s, and in the worst 100 ms %.0f %% of the requests failed",
			s.title, s.often(), saw.failed(), scenario.Plural(saw.failed(), "error"), words(saw.both()), saw.all(), s.withErrors(), len(s.events),
			scenario.Total(saw.errors[0]), scenario.Total(saw.errors[1]), scenario.Seconds(saw.longest.Seconds()), 100*saw.worst),
		result.Evidence{Name: "first errors of each event", Text: scenario.Excerpt(saw.examples)})
}

func (r *restarts) findEarly(s *stepSeen) {
	wrong, came, early, longest := map[string]int{}, 0, 0, time.Duration(0)
	var lines []string
	for _, e := range s.events {
		counts, replicas, until := e.early()
		came += len(e.replicas)
		early += replicas
		longest = max(longest, until)
		for what, n := range counts {
			wrong[what] += n
		}
		for i := range e.replicas {
			one := &e.replicas[i]
			if len(one.early) > 0 {
				lines = append(lines, fmt.Sprintf("%s at %s: given users by %s, asked for the last wrong answer %s later: %s",
					one.name, one.address, one.ready.UTC().Format("15:04:05.000"), scenario.Seconds(one.until.Sub(one.ready).Seconds()), words(one.early)))
			}
		}
	}
	if early == 0 {
		return
	}
	r.Find("early-"+s.name, result.Broken,
		fmt.Sprintf("while %s (%s), %d of %d new pods were given users before they had their routes: asked by themselves, they gave wrong answers for up to %s after their Service had them as ready (%s)",
			s.title, s.often(), early, came, scenario.Seconds(longest.Seconds()), words(wrong)),
		result.Evidence{Name: "new pods", Text: scenario.Excerpt(lines)})
}

func (r *restarts) findNeverBack(s *stepSeen) {
	var lines []string
	for _, e := range s.events {
		if e.notBack != "" {
			lines = append(lines, e.notBack)
		}
	}
	if len(lines) == 0 {
		return
	}
	r.Find("never-back-"+s.name, result.Broken,
		fmt.Sprintf("while %s (%s), the gateway was not as before within %s, at %d of %d events: %s", s.title, s.often(), r.Values.Duration("limit"), len(lines), len(s.events), lines[0]),
		result.Evidence{Name: "what was missing", Text: scenario.Excerpt(lines)})
}

// findChanges: what is changed while the control plane is away comes late, or
// never.
func (r *restarts) findChanges(s *stepSeen) {
	all := s.changes()
	if len(all) == 0 {
		return
	}
	never := 0
	for _, at := range all {
		if math.IsInf(at, 1) {
			never++
		}
	}
	without := "nothing to compare it with"
	for _, other := range r.steps() {
		if other.name == control {
			without = fmt.Sprintf("%s, where nothing happened", scenario.Seconds(stat.Summarize(other.changes(), stat.Options{}).P50))
		}
	}
	evidence := result.Evidence{Name: "in force everywhere, in seconds after the write", Text: fmt.Sprintf("%.3g; %s", all, without)}
	if never > 0 {
		r.Find("never-in-force-"+s.name, result.Broken,
			fmt.Sprintf("while %s (%s), routes that were changed and created right after did not come into force within %s, at %d of %d events", s.title, s.often(), r.Values.Duration("limit"), never, len(all)), evidence)
		return
	}
	if median := stat.Summarize(all, stat.Options{}).P50; median > slowChange.Seconds() {
		r.Find("changes-wait-"+s.name, result.Costly,
			fmt.Sprintf("while %s (%s), changes had to wait: routes that were changed and created right after were in force everywhere only after %s (median; %s)", s.title, s.often(), scenario.Seconds(median), without), evidence)
	}
}

// findSockets: where no pod of the data plane ends, none of what is held open
// should. Where one is killed, nothing else can be.
func (r *restarts) findSockets(s *stepSeen) {
	open, ended := s.sockets()
	if len(ended) == 0 {
		return
	}
	mute := slices.DeleteFunc(slices.Clone(ended), func(e socketEnd) bool { return e.how != silent })
	evidence := result.Evidence{Name: "WebSockets", Text: scenario.Excerpt(s.socketLines())}
	if len(mute) > 0 && s.cut == 0 { // what is killed cannot close anything
		r.Find("sockets-silent-"+s.name, result.Costly,
			fmt.Sprintf("while %s (%s), %d of %d WebSockets went silent without being closed: who waits for messages on them learns it from nobody", s.title, s.often(), len(mute), open), evidence)
	}
	lost := fmt.Sprintf("%d of %d WebSockets ended", len(ended), open)
	if len(ended) > open { // those that were opened in their place ended too
		lost = fmt.Sprintf("WebSockets ended %d times, where %d were held open", len(ended), open)
	}
	text := fmt.Sprintf("while %s (%s), %s (%s), in the median %s after the event began; another one was open in their place after %s (median)",
		s.title, s.often(), lost, words(howOften(ended)), scenario.Seconds(stat.Median(s.lived())), scenario.Seconds(stat.Median(outages(ended))))
	switch {
	case !s.ends:
		r.Find("sockets-"+s.name, result.Costly, text+", though no pod of the data plane had to end", evidence)
	case s.cut == 0:
		r.Find("sockets-"+s.name, result.Notable, text, evidence)
	}
}

func (s *stepSeen) socketLines() []string {
	var lines []string
	for i, e := range s.events {
		for _, end := range e.ended {
			back := "and no other was open in its place"
			if !end.back.IsZero() {
				back = fmt.Sprintf("another was open %s later", scenario.Seconds(end.back.Sub(end.at).Seconds()))
			}
			lines = append(lines, fmt.Sprintf("event %d: %s, %s after it began; %s", i+1, end.how, scenario.Seconds((end.life().Sub(s.kind.began)-e.t0).Seconds()), back))
		}
	}
	return lines
}

// lived is for how long after its event began each lived, in seconds.
func (s *stepSeen) lived() []float64 {
	var all []float64
	for _, e := range s.events {
		for _, end := range e.ended {
			all = append(all, (end.life().Sub(s.kind.began) - e.t0).Seconds())
		}
	}
	return all
}

// outages are how long it took until another one was open, from the last echo
// on; +Inf where none was.
func outages(ended []socketEnd) []float64 {
	var all []float64
	for _, end := range ended {
		if end.back.IsZero() {
			all = append(all, math.Inf(1))
		} else {
			all = append(all, end.back.Sub(end.last).Seconds())
		}
	}
	return all
}

func howOften(ended []socketEnd) map[string]int {
	all := map[string]int{}
	for _, end := range ended {
		all[end.how]++
	}
	return all
}

// seconds of a duration; +Inf where it is negative, which never came.
func seconds(d time.Duration) float64 {
	if d < 0 {
		return math.Inf(1)
	}
	return d.Seconds()
}
