package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

const ms = time.Millisecond

// made is a step of a second in which all requests were answered well after so
// long, on a data plane that used so many CPUs.
func made(s stage, rate int, took time.Duration, cores float64) *try {
	well := &load.ClassCount{Count: int64(rate), Latency: load.NewHistogram(), Service: load.NewHistogram()}
	for range min(rate, 1000) {
		well.Latency.Record(int64(took))
	}
	counts := load.Counts{Classes: map[load.Class]*load.ClassCount{load.OK: well}}
	one := &try{step: step{s, rate}, length: time.Second, well: int64(rate), Seen: &attack.Seen{Counts: counts, Sent: int64(rate), Use: attack.UnknownUse()}}
	one.Result = &load.Result{Requests: int64(rate), RequestedRate: float64(rate), AchievedRate: float64(rate), Seconds: 1, OpenLoop: true, Verdict: load.Valid,
		Errors: map[load.Class]int64{}, StatusCodes: map[int]int64{202: int64(rate)}, Latency: well.Latency.Summary()}
	one.Use.DataPlane, one.Use.Attackers, one.Use.Backends, one.Use.Rest = cores, 0.5, 0.5, 0.5
	one.Use.All, one.Use.Memory, one.Use.Seconds = cores+1.5, 1<<20, 1
	one.Each = []load.Attacker{{Name: "attacker-0", Result: one.Result}}
	return one
}

// fail makes so many of a step's requests end otherwise.
func (one *try) fail(class load.Class, n int64) *try {
	one.Counts.Classes[class] = &load.ClassCount{Count: n}
	one.Counts.Classes[load.OK].Count -= n
	one.well -= n
	one.Result.Errors = one.Counts.Errors()
	return one
}

func judged(one *try) *try {
	one.judge(criteria{time.Second, 100}, 16)
	return one
}

func TestJudge(t *testing.T) {
	with := func(one *try, change func(*try)) *try { change(one); return one }
	restarted := func(o *try) { o.restarts = []string{"pod p is gone"} }
	late := func(n int64) func(*try) { return func(o *try) { o.Result.Late = n } }
	behind := func(share float64) func(*try) { return func(o *try) { o.Result.AchievedRate *= 1 - share } }
	for name, c := range map[string]struct {
		one  *try
		want attack.Verdict
		why  string
	}{
		"carried":                     {made(climb, 1000, 5*ms, 1), attack.Fine, ""},
		"one failure":                 {made(climb, 1000, 5*ms, 1).fail(load.Status5xx, 1), attack.NotCarried, "1 of 1000 requests failed (1× status 5xx)"},
		"all failed":                  {with(made(climb, 1000, 5*ms, 1).fail(load.Reset, 1000), func(o *try) { o.Result.Latency = nil }), attack.NotCarried, "1000 of 1000 requests failed (1000× reset); no request was answered well"},
		"never sent":                  {made(climb, 1000, 5*ms, 1).fail(load.Unsent, 3), attack.NotCarried, "3 of 1000 requests failed (3× unsent)"},
		"slow":                        {made(climb, 1000, 1500*ms, 1), attack.NotCarried, "p99 is 1.5s, want below 1s"},
		"behind":                      {with(made(climb, 1000, 5*ms, 1), behind(0.03)), attack.NotCarried, "3.0 % of the requests had no answer at the end, with a median of 5ms: the queue grows"},
		"behind by its latency":       {with(made(climb, 1000, 200*ms, 1), behind(0.2)), attack.Fine, ""},
		"late and carried":            {with(made(climb, 1000, 5*ms, 1), late(500)), attack.Fine, ""},
		"late and failed":             {with(made(climb, 1000, 5*ms, 1).fail(load.Status5xx, 1), late(101)), attack.AttackerLimited, "10 % of requests were sent more than 1 ms late, limit 10 %"},
		"a little late and failed":    {with(made(climb, 1000, 5*ms, 1).fail(load.Status5xx, 1), late(50)), attack.NotCarried, "1 of 1000 requests failed (1× status 5xx)"},
		"busy and failed":             {with(made(climb, 1000, 1500*ms, 1), func(o *try) { o.Result.Self.BusiestLoop = 0.9 }), attack.AttackerLimited, "an event loop used 90 % of its CPU, limit 80 %"},
		"without ports":               {with(made(climb, 1000, 5*ms, 1).fail(load.AddressExhausted, 1), func(o *try) { o.Result.Self.Exhausted = 1 }), attack.AttackerLimited, "no local port or descriptor was left for a connection"},
		"the clock was set":           {with(made(climb, 1000, 5*ms, 1), func(o *try) { o.Result.Self.ClockSteps = 1 }), attack.AttackerLimited, "the real-time clock was set meanwhile"},
		"restarted":                   {with(made(climb, 1000, 5*ms, 1).fail(load.Reset, 100), restarted), gatewayRestarted, "pod p is gone"},
		"restarted without a failure": {with(made(climb, 1000, 5*ms, 1), restarted), gatewayRestarted, "pod p is gone"},
		"stolen and failed":           {with(made(climb, 1000, 1500*ms, 1), func(o *try) { o.Result.Self.Steal = 0.2 }), attack.MachineLimited, "the host took 20 % of the CPU time away"},
		"receivers at their limit":    {with(made(climb, 1000, 1500*ms, 1), func(o *try) { o.Use.Backends = 15 }), attack.BackendLimited, "the backends used 94 % of the CPUs that they could"},
	} {
		if judged(c.one); c.one.Verdict != c.want || strings.Join(c.one.Reasons, "; ") != c.why {
			t.Errorf("%s: %s %q, want %s %q", name, c.one.Verdict, c.one.Reasons, c.want, c.why)
		}
	}
	some := made(climb, 1000, 5*ms, 1).fail(load.Status5xx, 10)
	if some.judge(criteria{time.Second, 99}, 16); some.Verdict != attack.Fine {
		t.Errorf("99 of 100 suffice: %s %q", some.Verdict, some.Reasons)
	}
}

// trial is one that made those steps, on a machine with 16 CPUs.
func trial(t *testing.T, of func(step) *try) *capacity {
	t.Helper()
	c := &capacity{search: search{start: 500, most: 100_000, resolution: 0.02}, came: map[string]arrived{}}
	c.Place = &attack.Place{Trial: scenariotest.Trial(t, Scenario, nil), CPUs: 16, BackendNodes: 1, Backends: []string{"b"}}
	c.Meter = meter{}
	for {
		now, ok := c.search.next()
		if !ok {
			break
		}
		one := judged(of(now))
		one.source = now.String() + string(rune('a'+len(c.tries)))
		c.came[one.source] = arrived{once: one.Sent}
		c.tries = append(c.tries, one)
		c.search.tell(one.Verdict)
	}
	return c
}

// A meter is there, and is not asked.
type meter struct{ scenario.Meter }

// limited carries so much, and refuses all that is more.
func limited(limit int) func(step) *try {
	return func(s step) *try {
		one := made(s.stage, s.rate, 5*ms, 2)
		if s.rate > limit && s.stage != direct {
			one.fail(load.Status5xx, int64(s.rate-limit))
		}
		return one
	}
}

func (c *capacity) reported(t *testing.T) *capacity {
	t.Helper()
	c.report()
	scenariotest.CheckFigures(t, c.Result)
	return c
}

func TestTheAnswer(t *testing.T) {
	c := trial(t, limited(3000)).reported(t)
	scenariotest.CheckFindings(t, c.Result)
	scenariotest.CheckShape(t, Scenario, c.Result)
	for name, want := range map[string]float64{"capacity": 3000, "confirmed": 3000, "carried": 3000, "failed-confirmed": 0, "cpus-confirmed": 2, "memory-confirmed": 1 << 20} {
		if m := c.Result.Metrics[name]; m.Value == nil || *m.Value != want {
			t.Errorf("%s: %+v, want %v", name, m, want)
		}
	}
	text := string(c.Attachments["capacity.txt"])
	for _, want := range []string{
		"A rate is carried if its p99 is below 1s and its success rate is 100 %. 3000 requests/s.", "At 3000 req/s, for 1s:",
		"Requests      [total, rate, throughput]       3000, 3000.00, 3000.00", "Status codes  [code:count]                    202:3000",
		"none in 3000: the true share is below 0.1 %", "At 3031 req/s: 31 of 3031 requests failed (31× status 5xx).",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	if notes := strings.Join(c.Result.Notes, "\n"); !strings.Contains(notes, "A failure of one request in 1000, or rarer, need not show in so many (95 % confidence); one in 20000 takes 59914") {
		t.Errorf("notes:\n%s", notes)
	}
}

// Whatever is no evidence is never called a capacity.
func TestNoCapacity(t *testing.T) {
	for name, spoil := range map[string]func(*try){
		"attacker-limited":  func(o *try) { o.Result.Self.BusiestLoop = 1 },
		"gateway restarted": func(o *try) { o.restarts = []string{"pod p is gone"} },
		"machine-limited":   func(o *try) { o.Result.Self.Steal = 0.5 },
		"backend-limited":   func(o *try) { o.Use.Backends = 16 },
	} {
		c := trial(t, func(s step) *try {
			one := limited(3000)(s)
			if s.rate > 3000 {
				spoil(one)
			}
			return one
		}).reported(t)
		if m, ok := c.Result.Metrics["capacity"]; ok {
			t.Errorf("%s: capacity %v", name, *m.Value)
		}
		if f := scenariotest.Finding(t, c.Result, "no-capacity"); !strings.Contains(f.Text, name) {
			t.Error(f.Text)
		}
	}
	c := trial(t, func(s step) *try {
		one := limited(3000)(s)
		if s.stage == direct {
			one.fail(load.Timeout, 5)
		}
		return one
	}).reported(t)
	scenariotest.CheckFindings(t, c.Result, "no-capacity info")
	c = trial(t, func(s step) *try { return made(s.stage, s.rate, 5*ms, 1) }).reported(t)
	if scenariotest.CheckFindings(t, c.Result); c.Result.Metrics["capacity"].Value != nil || *c.Result.Metrics["confirmed"].Value != 100_000 {
		t.Errorf("metrics %+v", c.Result.Metrics)
	}
}

// A trial in which nothing could be told is no evidence; one in which the gateway
// was restarted each time is.
func TestNoStepIsEvidence(t *testing.T) {
	all := func(spoil func(*try)) error {
		return trial(t, func(s step) *try {
			one := made(s.stage, s.rate, 5*ms, 1).fail(load.Timeout, 1)
			spoil(one)
			return one
		}).reported(t).evident()
	}
	if err := all(func(o *try) { o.Result.Self.BusiestLoop = 1 }); err == nil || !strings.Contains(err.Error(), "steps is evidence, down to 125 requests/s: attacker-limited: an event loop used 100 %") {
		t.Errorf("attackers at their limit: %v", err)
	}
	if err := all(func(o *try) { o.restarts = []string{"pod p is gone"} }); err != nil {
		t.Errorf("restarts: %v", err)
	}
	if err := all(func(*try) {}); err != nil {
		t.Errorf("failures: %v", err)
	}
}

func TestFindings(t *testing.T) {
	t.Run("restarted", func(t *testing.T) {
		c := trial(t, func(s step) *try {
			one := limited(3000)(s)
			if s.rate > 3500 {
				one.restarts = []string{"pod p is gone"}
			}
			return one
		}).reported(t)
		scenariotest.CheckFindings(t, c.Result, "restarted broken")
	})
	t.Run("errors at any rate", func(t *testing.T) {
		c := trial(t, func(s step) *try { return made(s.stage, s.rate, 5*ms, 1).fail(load.Status5xx, 1) }).reported(t)
		scenariotest.CheckFindings(t, c.Result, "errors broken")
		if f := c.Result.Findings[0]; !strings.Contains(f.Text, "from 7 requests/s on, 7 of 990 failed (7× status 5xx), while up to 499/s were answered well") {
			t.Error(f.Text)
		}
	})
	t.Run("a rare error", func(t *testing.T) { // a step has too few requests to show it
		c := trial(t, func(s step) *try {
			one := limited(3000)(s)
			if s.stage == confirm {
				one.fail(load.Status5xx, 1)
			}
			return one
		}).reported(t)
		scenariotest.CheckFindings(t, c.Result, "errors broken")
	})
	t.Run("slow", func(t *testing.T) {
		c := trial(t, func(s step) *try { return made(s.stage, s.rate, 1500*ms, 1) }).reported(t)
		scenariotest.CheckFindings(t, c.Result, "slow costly")
	})
	t.Run("lost and repeated", func(t *testing.T) {
		c := trial(t, limited(3000))
		c.came[c.tries[0].source] = arrived{once: 498}
		c.came[c.tries[1].source] = arrived{once: 1000, more: 3}
		c.reported(t)
		scenariotest.CheckFindings(t, c.Result, "lost-events broken", "repeated-events costly")
	})
	t.Run("collapses", func(t *testing.T) {
		c := trial(t, func(s step) *try {
			one := made(s.stage, s.rate, 5*ms, 2)
			if s.rate > 3500 && s.stage != direct {
				return one.fail(load.Timeout, int64(s.rate)-1000)
			}
			return limited(3000)(s)
		}).reported(t)
		scenariotest.CheckFindings(t, c.Result, "collapses costly")
	})
	t.Run("one core", func(t *testing.T) {
		using := func(cpus int, limits corev1.ResourceList) *capacity {
			c := trial(t, func(s step) *try {
				one := limited(3000)(s)
				one.Use.DataPlane, one.Use.All = 1.02, 2.5
				return one
			})
			c.CPUs, c.first = cpus, pods{{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: limits}}}}}}
			return c.reported(t)
		}
		scenariotest.CheckFindings(t, using(16, nil).Result, "one-core costly")
		scenariotest.CheckFindings(t, using(2, nil).Result)
		scenariotest.CheckFindings(t, using(16, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}).Result)
	})
}

func TestWhatBecameOfPods(t *testing.T) {
	pod := func(uid types.UID, restarts int32, last *corev1.ContainerStateTerminated) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p-" + string(uid), UID: uid}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "envoy", RestartCount: restarts, LastTerminationState: corev1.ContainerState{Terminated: last}},
		}}}
	}
	ending := pod("a", 0, nil)
	ending.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	oom := &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
	for name, c := range map[string]struct {
		later pods
		want  []string
	}{
		"nothing":    {pods{pod("a", 0, nil), pod("b", 2, nil)}, nil},
		"another":    {pods{pod("a", 0, nil), pod("b", 2, nil), pod("c", 1, oom)}, nil},
		"gone":       {pods{pod("b", 2, nil)}, []string{"pod p-a is gone"}},
		"ending":     {pods{ending, pod("b", 2, nil)}, []string{"pod p-a was told to end"}},
		"OOM-killed": {pods{pod("a", 0, nil), pod("b", 3, oom)}, []string{"container envoy of pod p-b was restarted (OOMKilled, exit code 137)"}},
	} {
		if diff := cmp.Diff(c.want, pods{pod("a", 0, nil), pod("b", 2, nil)}.gone(c.later)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHowManyItTakes(t *testing.T) {
	if n := needed(20_000); n != 59914 {
		t.Errorf("%d requests for one in 20000", n)
	}
	if n := seesOneIn(59_914); n != 19971 {
		t.Errorf("59914 requests show one in %d", n)
	}
	c := &capacity{Place: &attack.Place{Trial: scenariotest.Trial(t, Scenario, map[string]any{"oneIn": 20_000})}}
	if got := c.length(step{confirm, 1000}); got != time.Minute {
		t.Errorf("at 1000/s it takes %s", got)
	}
	if got := c.length(step{confirm, 100_000}); got != 20*time.Second {
		t.Errorf("at 100000/s it takes %s", got)
	}
	if got := c.length(step{narrow, 1000}); got != 4*time.Second {
		t.Errorf("a step takes %s", got)
	}
	if got := c.length(step{climb, 7}); got != 15*time.Second {
		t.Errorf("a p99 at 7/s takes %s", got)
	}
}

func TestParameters(t *testing.T) {
	if problems := check(map[string]any{"attackers": 4, "connections": 3, "start": 10, "most": 5}); len(problems) != 2 {
		t.Errorf("%v", problems)
	}
	v := scenariotest.Trial(t, Scenario, nil).Values
	if d := estimate(v); d < 2*time.Minute || d > 3*time.Minute {
		t.Errorf("by default it takes %s", d)
	}
}
