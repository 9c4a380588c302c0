package capacity

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
	"github.com/gatemark/gatemark/stat"
)

// report turns what was tried into metrics, tables, series, figures and
// findings.
func (c *capacity) report() {
	a := c.search.answer()
	lasted := c.lasted(a)
	c.metrics(a, lasted)
	c.tables(a, lasted)
	c.series()
	c.figures(a)
	c.findings(a, lasted)
	c.notes(a, lasted)
	c.Attachments["capacity.txt"] = []byte(c.text(a, lasted))
}

// lasted is the try that the answer rests on, or nil.
func (c *capacity) lasted(a answer) *try {
	for _, one := range c.tries {
		if one.stage == confirm && one.rate == a.rate && one.Verdict == attack.Fine {
			return one
		}
	}
	return nil
}

// isCapacity reports whether the rate that lasted is the gateway's capacity, and
// not only a rate that it carries.
func (a answer) isCapacity() bool { return a.verdict == attack.Fine && !a.most && a.rate > 0 }

// words say what the answer is.
func (a answer) words() string {
	switch {
	case a.isCapacity():
		return fmt.Sprintf("%d requests/s", a.rate)
	case a.verdict == attack.Fine:
		return fmt.Sprintf("at least %d requests/s: no higher rate was to be tried", a.rate)
	case a.verdict == attack.NotCarried:
		return "no rate that was tried is carried"
	case a.rate > 0:
		return fmt.Sprintf("%s: %d requests/s are carried, and what the capacity is cannot be told", a.verdict, a.rate)
	}
	return fmt.Sprintf("%s: what the capacity is cannot be told", a.verdict)
}

func (c *capacity) metrics(a answer, lasted *try) {
	if a.isCapacity() {
		c.Metric("capacity", result.Value("Highest rate that is carried", "1/s", float64(a.rate)).Higher())
	}
	c.Metric("carried", result.Value("Highest rate that was carried for the length of a step", "1/s", float64(a.carried)).Higher())
	c.Metric("confirmed", result.Value("Highest rate that was carried for the length of the longer stage", "1/s", float64(a.rate)).Higher())
	sent := int64(c.Checks)
	for _, one := range c.tries {
		if one.stage != direct {
			sent += one.Sent
		}
	}
	c.Metric("requests-sent", result.Count("Requests sent to the gateway in all, warm-ups and first checks too: what its own counter must say", int(sent)))
	if lasted != nil {
		c.lastedMetrics(lasted)
	}
}

// lastedMetrics are those of the try that the answer rests on.
func (c *capacity) lastedMetrics(one *try) {
	at := fmt.Sprintf(", at %d requests/s", one.rate)
	c.Metric("latency-confirmed", attack.Distribution("Latency"+at, one.Result.Latency))
	failed := result.Count("Requests that failed"+at, scenario.Total(failures(one.Seen)))
	failed.N = int(one.Counts.Requests())
	if *failed.Value == 0 {
		failed.Warnings = append(failed.Warnings, noneIn(failed.N))
	}
	c.Metric("failed-confirmed", failed.Lower())
	for _, who := range attack.Consumers {
		c.metric("cpu-"+who.Name+"-confirmed", "CPU time for a million requests, "+who.Title+at, "s", attack.PerMillion(who.Of(one.Use), attack.Sent(&one.Counts)))
	}
	c.metric("cpu-per-million", "CPU time of the data plane for a million requests"+at, "s", attack.PerMillion(one.Use.Gateway(), attack.Sent(&one.Counts)))
	c.metric("cpus-confirmed", "CPUs that the data plane used"+at, "1", one.Use.Gateway()/one.Use.Seconds)
	c.metric("memory-confirmed", "Largest working set of the data plane"+at, "B", one.Use.Memory)
}

// metric leaves out what nobody knows.
func (c *capacity) metric(name, title, unit string, v float64) {
	if !math.IsNaN(v) {
		c.Metric(name, result.Value(title, unit, v).Lower())
	}
}

// noneIn is the rule of three in words.
func noneIn(n int) string {
	return fmt.Sprintf("none in %d: the true share is below %.2g %%, at 95 %% confidence", n, 100*stat.RuleOfThree(n))
}

// notes say what the answer rests on, and what it cannot say.
func (c *capacity) notes(a answer, lasted *try) {
	c.Note("The answer: %s.", a.words())
	if lasted != nil {
		c.Note("It rests on %d requests in %s on new connections, of which %d failed. A failure of one request in %d, or rarer, need not show in so many (95 %% confidence); one in 20000 takes %d. Steps of %s see less: one in %d at this rate.",
			lasted.Counts.Requests(), lasted.length, scenario.Total(failures(lasted.Seen)), seesOneIn(lasted.Counts.Requests()), needed(20_000),
			c.Values.Duration("duration"), max(1, seesOneIn(int64(float64(lasted.rate)*c.Values.Duration("duration").Seconds()))))
	}
	if a.above > 0 && lasted != nil {
		c.Note("%d requests/s were not carried: the answer is known to %.1f %%.", a.above, 100*(float64(a.above)/float64(a.rate)-1))
	}
	c.Note("Requests went to %s (through: %s) from %d %s; %s. The node that measures has %d CPUs.",
		c.Gateway, c.Values.String("through"), c.Values.Int("attackers"), scenario.Plural(c.Values.Int("attackers"), "attacker"), c.what(), c.CPUs)
	if c.Meter == nil {
		c.Note("Use of resources was not observed: there is no CPU time in this trial.")
	} else if lasted != nil {
		whole := lasted.Use.All / lasted.Use.Seconds
		c.Note("At that rate %.2f of %d CPUs were used, %.2f of them by the data plane. Where attackers, receivers and the gateway share a node, a gateway with CPUs of its own carries more.", whole, c.CPUs, lasted.Use.Gateway()/lasted.Use.Seconds)
	}
	if limits := c.first.limits(); limits != "" {
		c.Note("The data plane has %d %s; each %s.", len(c.first), scenario.Plural(len(c.first), "pod"), limits)
	}
}

// what says what requests were.
func (c *capacity) what() string {
	to := fmt.Sprintf("%d %s", len(c.Backends), scenario.Plural(len(c.Backends), "receiver"))
	if size := c.Values.Int("events"); size > 0 {
		return fmt.Sprintf("they were CloudEvents with %d B of data for %s", size, to)
	}
	return "they were GETs without a body to " + to
}

// limits are what the first pod's containers ask for and are held to, or "".
func (p pods) limits() string {
	if len(p) == 0 {
		return ""
	}
	var words []string
	for _, container := range p[0].Spec.Containers {
		r := container.Resources
		words = append(words, fmt.Sprintf("container %s requests %s and is limited to %s", container.Name, quantities(r.Requests), quantities(r.Limits)))
	}
	return strings.Join(words, "; ")
}

// quantities are CPU and memory in words.
func quantities(of corev1.ResourceList) string {
	var words []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, ok := of[name]; ok {
			words = append(words, fmt.Sprintf("%s of %s", q.String(), name))
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
