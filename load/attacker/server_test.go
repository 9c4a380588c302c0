package attacker

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// ask sends a request as it is, and returns the status and the body.
func ask(t *testing.T, p *post, method, path, authorization, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.http.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Get(instanceHeader) != p.instance {
		t.Errorf("%s: instance %q", path, res.Header.Get(instanceHeader))
	}
	return res.StatusCode, string(text)
}

// TestEveryPathWantsTheToken, but for the one that says that somebody is there.
func TestEveryPathWantsTheToken(t *testing.T) {
	all, _ := posts(t, 1)
	for _, path := range []string{clockPath, statePath, preparePath, startPath, markPath, stopPath, resultPath, resetPath, "/", "/healthz/"} {
		for _, authorization := range []string{"", "Bearer", "Bearer ", "Bearer " + token + "s", "Bearer " + token[1:], token, "Basic " + token} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if status, _ := ask(t, all[0], method, path, authorization, "{}"); status != http.StatusUnauthorized {
					t.Errorf("%s %s with %q: %d", method, path, authorization, status)
				}
			}
		}
	}
	if status, _ := ask(t, all[0], http.MethodGet, HealthPath, "", ""); status != http.StatusNoContent {
		t.Errorf("health: %d", status)
	}
}

const preparation = `{"attack":"x","options":{"targets":[{"url":"http://127.0.0.1:1/"}],"duration":500000000,"engine":"epoll"}}`

func TestServerRefuses(t *testing.T) {
	all, _ := posts(t, 1)
	p := all[0]
	post := func(path, body string) (int, string) {
		return ask(t, p, http.MethodPost, path, "Bearer "+token, body)
	}
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{preparePath, "", 400, "EOF"},
		{preparePath, `{"attack":"x","options":{"targets":[],"speed":1}}`, 400, `unknown field \"speed\"`},
		{preparePath, strings.Replace(preparation, `"x"`, `""`, 1), 400, "an ID is missing"},
		{preparePath, preparation + " {}", 400, "something comes after"},
		{preparePath, `{"attack":"x","options":{"duration":1}}`, 400, "no target"},
		{startPath, `{"attack":"x"}`, 409, "no attack is prepared"},
		{resetPath, "", 200, `"phase":"idle"`},
		{preparePath, preparation, 200, `"phase":"prepared"`},
		{preparePath, strings.Replace(preparation, `"x"`, `"y"`, 1), 409, "attack x on http://127.0.0.1:1/ is prepared"},
		{startPath, `{"attack":"y"}`, 409, `attack \"y\" is not x`},
		{startPath, `{"attack":"x","at":1}`, 409, "after the instant"},
		{startPath, `{"attack":"x","at":"now"}`, 400, "cannot unmarshal"},
		{startPath, `{"attack":"` + strings.Repeat("x", smallBody) + `"}`, 400, "longer than"},
		{markPath, `{"attack":"x","window":"w"}`, 409, "the attack is prepared, not running"},
		{stopPath, `{"attack":"y"}`, 409, "not here"},
	} {
		if status, text := post(c.path, c.body); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %.80s: %d %s, want %d with %q", c.path, c.body, status, text, c.status, c.want)
		}
	}
	get := func(path string) (int, string) { return ask(t, p, http.MethodGet, path, "Bearer "+token, "") }
	if status, text := get(resultPath + "?attack=x"); status != 409 || !strings.Contains(text, "prepared, not done") {
		t.Errorf("result: %d %s", status, text)
	}
	for _, wait := range []string{"-1", "x", "NaN", "61"} {
		if status, _ := get(statePath + "?wait=" + wait); status != 400 {
			t.Errorf("wait %s: %d", wait, status)
		}
	}
	start, err := json.Marshal(startRequest{"x", p.clock.now() + int64(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if status, text := post(startPath, string(start)); status != 200 {
		t.Fatalf("start: %d %s", status, text)
	}
	if status, text := post(markPath, `{"attack":"x","window":"w","at":-5}`); status != 409 {
		t.Errorf("mark before the start: %d %s", status, text)
	}
	// Nobody listens there: all requests fail, and the attack does not.
	if status, text := get(statePath + "?wait=30"); status != 200 || !strings.Contains(text, `"phase":"done"`) {
		t.Errorf("state: %d %s", status, text)
	}
	if status, text := get(resultPath + "?attack=x"); status != 200 || !strings.Contains(text, `"refused"`) {
		t.Errorf("result: %d %.200s", status, text)
	}
}

// TestStopBeforeTheStart: an attack that never begins has no result, and says so.
func TestStopBeforeTheStart(t *testing.T) {
	all, _ := posts(t, 1)
	for _, c := range []struct{ path, body, want string }{
		{preparePath, preparation, "prepared"}, {stopPath, `{"attack":"x"}`, `"attack":"x"`},
	} {
		if status, text := ask(t, all[0], http.MethodPost, c.path, "Bearer "+token, c.body); status != 200 || !strings.Contains(text, c.want) {
			t.Fatalf("%s: %d %s", c.path, status, text)
		}
	}
	if _, text := ask(t, all[0], http.MethodGet, statePath+"?wait=30", "Bearer "+token, ""); !strings.Contains(text, "stopped before it began") {
		t.Errorf("state %s", text)
	}
}
