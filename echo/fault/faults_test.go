package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/internal/failure"
)

func TestDecodeReportsEverythingAtOnce(t *testing.T) {
	_, err := Decode([]byte(`{
		"colour": "red", "health": {"path": "x", "status": 99, "delay": {}},
		"rules": [
			{"delay": {"fixed": "5"}, "status": {"code": 503}, "every": -1},
			{"status": {"code": 1000, "retryAfter": "1500ms", "grpc": 17}, "ratio": 2},
			{"match": {"path": "a"}, "every": 2, "ratio": 0.5, "reset": {"at": "end"}},
			{"refuse": {"open": "x"}, "every": 3, "cycle": {"on": "0s", "count": 2, "start": "now"}},
			{"trickle": {"bytes": 0, "interval": "-1s"}, "unknown": 1},
			{"delay": {"modes": [{"weight": 0, "delay": {"fixed": "1ms", "uniform": {"min": "2ms", "max": "1ms"}}}]}},
			{"delay": {"exponential": {"mean": "25h"}}},
			{"delay": {"lognormal": {"sigma": -1}}},
			{"delay": {"normal": {"deviation": "x"}}}
		]}`))
	for _, want := range []string{
		`"colour"`, `"rules[4].unknown"`, "health.path", "health.status: 99", "health.delay: has 0 distributions",
		"rules[0]: has 2 kinds of fault", "rules[0].every: -1",
		"rules[1].status.code: 1000", `rules[1].status.retryAfter: 1500ms`, "rules[1].status.grpc: 17", "rules[1].ratio: 2",
		"rules[2].match.path", "rules[2]: has both every and ratio", `rules[2].reset.at: "end"`,
		`rules[3].refuse.open: "x"`, "rules[3]: refuses whole connections", "rules[3].cycle.on", "rules[3].cycle.off", "rules[3].cycle.start",
		"rules[4].trickle.bytes", "rules[4].trickle.interval: -1s is negative",
		"rules[5].delay.modes[0].weight", "rules[5].delay.modes[0].delay: has 2 distributions", "max 1ms is less than min 2ms",
		"rules[6].delay.exponential.mean: 25h is longer than 24h",
		"rules[7].delay.lognormal: has no median", "rules[7].delay.lognormal.sigma",
		"rules[8].delay.normal: has no mean", `rules[8].delay.normal.deviation: "x" is not a duration`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q", want)
		}
	}
	if failure.CodeOf(err) != failure.Usage {
		t.Errorf("code %v", failure.CodeOf(err))
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, bad := range []string{"", "[]", "{", "{} {}", `{"rules":{}}`, `{"rules":[],"rules":[]}`, `{"Rules":[]}`} {
		if f, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, f)
		}
	}
}

func compile(t *testing.T, text string) *Set {
	t.Helper()
	f, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Compile(f, new(Totals))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDefaultsAreFilledIn(t *testing.T) {
	given := Faults{Rules: []Rule{{Status: &Status{Code: 503}}, {Reset: &Reset{}}}}
	s, err := Compile(given, new(Totals))
	if err != nil {
		t.Fatal(err)
	}
	want := Faults{
		Health: Health{Path: "/health", Status: 200},
		Rules:  []Rule{{Name: "status", Status: &Status{Code: 503, GRPC: 14}}, {Name: "reset", Reset: &Reset{At: "start"}}},
	}
	if diff := cmp.Diff(want, s.Faults()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if given.Rules[0].Name != "" || given.Rules[0].Status.GRPC != 0 || given.Rules[1].Reset.At != "" {
		t.Errorf("the caller's faults were changed: %+v", given.Rules)
	}
}

func query(path, host, route string) *Query {
	return &Query{Path: []byte(path), Host: []byte(host), Route: []byte(route), Kinds: Waits | Answers}
}

func TestMatch(t *testing.T) {
	s := compile(t, `{"rules":[{"match":{"path":"/a","host":"X.example","route":"ns/r"},"close":{}}]}`)
	for _, c := range []struct {
		path, host, route string
		want              Kind
	}{
		{"/a", "x.example", "ns/r", CloseKind},
		{"/ab/c", "x.EXAMPLE:8080", "ns/r", CloseKind},
		{"/b", "x.example", "ns/r", None},
		{"/a", "y.example", "ns/r", None},
		{"/a", "x.example", "ns/s", None},
		{"/a", "x.example", "", None},
	} {
		if got := s.Decide(query(c.path, c.host, c.route), time.Now()).Kind; got != c.want {
			t.Errorf("%v: %v, want %v", c, got, c.want)
		}
	}
	if got := string(withoutPort([]byte("[::1]:80"))) + string(withoutPort([]byte("[::1]"))); got != "[::1][::1]" {
		t.Errorf("hosts %s", got)
	}
}

func TestEveryIsExactAndHealthCountsByItself(t *testing.T) {
	s := compile(t, `{"rules":[{"every":3,"status":{"code":503,"retryAfter":"7s"}}]}`)
	now := time.Now()
	health := query("/health", "", "")
	health.Health = true
	for i := range 30 {
		v := s.Decide(query("/", "", ""), now)
		if failed := v.Kind == StatusKind && v.Code == 503 && v.RetryAfter == "7" && v.GRPC == 14; failed != (i%3 == 2) {
			t.Errorf("request %d: %+v", i, v)
		}
		s.Decide(health, now)
	}
	want := []RuleCount{{Name: "status", Kind: "status", Matched: 30, Applied: 10, HealthMatched: 30, HealthApplied: 10}}
	if diff := cmp.Diff(want, s.Counts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"status": 20}, s.totals.Counts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRatio(t *testing.T) {
	s := compile(t, `{"rules":[{"ratio":0.1,"close":{}}]}`)
	const n = 100_000
	for range n {
		s.Decide(query("/", "", ""), time.Now())
	}
	// Six standard deviations.
	if got := s.Counts()[0].Applied; got < n/10-570 || got > n/10+570 {
		t.Errorf("%d of %d", got, n)
	}
}

func TestWaitsAddUpAndTheFirstAnswerWins(t *testing.T) {
	s := compile(t, `{"health":{"delay":{"fixed":"1s"}},"rules":[
		{"delay":{"fixed":"1ms"}},{"every":2,"hang":{}},{"close":{}},{"name":"last","delay":{"fixed":"2ms"}},{"garbage":{}}]}`)
	first, second := s.Decide(query("/", "", ""), time.Now()), s.Decide(query("/", "", ""), time.Now())
	want := Verdict{Delay: 3 * time.Millisecond, Waits: true, Kind: CloseKind}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if second.Kind != HangKind || second.Delay != want.Delay {
		t.Errorf("second %+v", second)
	}
	if garbage := s.Counts()[4]; garbage.Matched != 0 {
		t.Errorf("a rule behind the one that decided was asked: %+v", garbage)
	}
	message := query("/", "", "")
	message.Kinds = Waits
	if v := s.Decide(message, time.Now()); v.Kind != None || v.Delay != want.Delay {
		t.Errorf("where only waits are possible: %+v", v)
	}
	message.Health = true
	if v := s.Decide(message, time.Now()); v.Delay != want.Delay+time.Second {
		t.Errorf("a health check: %+v", v)
	}
}

func TestHealthIgnoresFaults(t *testing.T) {
	s := compile(t, `{"health":{"path":"/up","status":503,"ignoreFaults":true},"rules":[{"close":{}}]}`)
	q := query("/up", "", "")
	q.Health = true
	if v := s.Decide(q, time.Now()); v.Kind != None || s.HealthStatus() != 503 {
		t.Errorf("%+v, status %d", v, s.HealthStatus())
	}
	for target, want := range map[string]bool{"/up": true, "/up?x": true, "/upper": false, "/": false, "/health": false} {
		if s.Health([]byte(target)) != want {
			t.Errorf("%s is a health check: %v", target, !want)
		}
	}
	if compile(t, `{"health":{"path":"none"}}`).Health([]byte("none")) {
		t.Error("there is no health endpoint, yet it is found")
	}
}
