package echo

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/echo/fault"
)

func admin(t *testing.T, s *Server, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+s.AdminAddress().String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestFaultsChangeAtRunTime(t *testing.T) {
	s, _ := serve(t, Options{})
	for _, step := range []struct {
		method, body string
		status       int // of the admin
		then         int // of the next request
	}{
		{"PUT", `{"rules":[{"status":{"code":503}}]}`, 200, 503},
		{"PUT", `{"rules":[{"status":{"code":1}},{}],"x":1}`, 400, 503},
		{"PATCH", `{"health":{"status":500}}`, 200, 503},
		{"PATCH", `{"rules":null}`, 200, 200},
		{"PATCH", `{"rules":[{"status":{"code":502}}]}`, 200, 502},
		{"PATCH", `{`, 400, 502},
		{"DELETE", ``, 200, 200},
	} {
		status, text := admin(t, s, step.method, "/faults", step.body)
		if status != step.status {
			t.Errorf("%s %s: %d %s", step.method, step.body, status, text)
		}
		if status == 400 && step.method == "PUT" && (!strings.Contains(text, `"x"`) || !strings.Contains(text, "rules[0].status.code") || !strings.Contains(text, "rules[1]: has 0 kinds")) {
			t.Errorf("not all problems are told: %s", text)
		}
		if got, _, _, err := ask(s, "/"); got != step.then || err != nil {
			t.Errorf("after %s %s: status %d, want %d; %v", step.method, step.body, got, step.then, err)
		}
	}
	_, text := admin(t, s, "GET", "/faults", "")
	var got fault.Faults
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fault.Faults{Health: fault.Health{Path: "/health", Status: 200}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMetrics(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"every":2,"status":{"code":503}}]}`)})
	for range 4 {
		if _, _, _, err := ask(s, "/"); err != nil {
			t.Fatal(err)
		}
	}
	status, text := admin(t, s, "GET", "/metrics", "")
	for _, want := range []string{
		`gatemark_echo_requests_total{status="200"} 2`, `gatemark_echo_requests_total{status="503"} 2`,
		`gatemark_echo_faults_total{kind="status"} 2`, `gatemark_echo_connections_total{protocol="http/1.1"} 4`,
	} {
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("status %d, metrics lack %s", status, want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	if status, text := admin(t, s, "GET", "/events", ""); status != 200 || strings.TrimSpace(text) != "[]" {
		t.Errorf("events: %d %s", status, text)
	}
}
