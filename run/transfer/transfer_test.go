package transfer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
)

const token = "right"

// runner starts a runner with one trial whose attachment spans ranges.
func runner(t *testing.T, attachment []byte) *httptest.Server {
	t.Helper()
	dir := result.Directory(t.TempDir())
	trial := &result.Trial{SchemaVersion: result.SchemaVersion, ID: "b01-s-i", Outcome: result.OK}
	if err := dir.WriteTrial(trial, map[string][]byte{"evidence/log.txt": attachment, "empty": nil}); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(Handler(token, dir, func() Status { return Status{RunID: "r", Planned: 3, Finished: 1} }))
	t.Cleanup(s.Close)
	return s
}

// client returns a client whose answers pass through damage.
func client(s *httptest.Server, token string, damage func(n int, body []byte) ([]byte, error)) *Client {
	n := 0
	return &Client{Pause: time.Microsecond, Get: func(ctx context.Context, path string, query url.Values) ([]byte, string, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", s.URL+path+"?"+query.Encode(), nil)
		if err != nil {
			return nil, "", err
		}
		req.Header.Set(TokenHeader, token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, "", err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != 200 {
			err = errors.New(res.Status)
		}
		if err == nil && damage != nil {
			n++
			body, err = damage(n, body)
		}
		return body, res.Header.Get(ChecksumHeader), err
	}}
}

func TestPullSurvivesADamagedPath(t *testing.T) {
	attachment := bytes.Repeat([]byte("0123456789abcde\n"), 3*rangeSize/16+5)
	s := runner(t, attachment)
	for name, damage := range map[string]func(n int, body []byte) ([]byte, error){
		"none": nil,
		"every third answer is cut": func(n int, body []byte) ([]byte, error) {
			if n%3 == 0 && len(body) > 0 {
				body = body[:len(body)/2]
			}
			return body, nil
		},
		"every third answer has a bit flipped": func(n int, body []byte) ([]byte, error) {
			if n%3 == 0 && len(body) > 0 {
				body[len(body)/3] ^= 4
			}
			return body, nil
		},
		"every second answer is an error": func(n int, body []byte) ([]byte, error) {
			if n%2 == 0 {
				return nil, errors.New("connection reset by peer")
			}
			return body, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(s, token, damage)
			dir := result.Directory(t.TempDir())
			pulled, err := c.Pull(t.Context(), dir, []string{"b01-s-i"})
			if err != nil || len(pulled) != 1 {
				t.Fatalf("pulled %q, %v", pulled, err)
			}
			if _, err := dir.ReadTrial("b01-s-i"); err != nil {
				t.Error(err)
			}
			files, err := dir.TrialFiles("b01-s-i")
			if err != nil || len(files) != 3 {
				t.Fatalf("files %q, %v", files, err)
			}
			again, err := c.Pull(t.Context(), dir, []string{"b01-s-i"})
			if err != nil || len(again) != 0 {
				t.Errorf("what was there was pulled again: %q, %v", again, err)
			}
		})
	}
}

func TestABrokenPathLeavesNothingBehind(t *testing.T) {
	s := runner(t, make([]byte, 100))
	c := client(s, token, func(_ int, body []byte) ([]byte, error) {
		if bytes.HasPrefix(body, []byte("[")) {
			return body, nil
		}
		return body[:len(body)/2], nil
	})
	dir := result.Directory(t.TempDir())
	_, err := c.Pull(t.Context(), dir, []string{"b01-s-i"})
	if err == nil || !strings.Contains(err.Error(), "evidence/log.txt at 0 of 100 bytes: got 50 bytes of 100") {
		t.Errorf("error %v", err)
	}
	if ids, err := dir.TrialIDs(); err != nil || len(ids) != 0 {
		t.Errorf("left %q, %v", ids, err)
	}
}

func TestOnlyTheTokenOpens(t *testing.T) {
	s := runner(t, nil)
	for _, wrong := range []string{"", "wrong", "righ", "rights"} {
		if _, err := client(s, wrong, nil).Status(t.Context()); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("token %q: %v", wrong, err)
		}
	}
	status, err := client(s, token, nil).Status(t.Context())
	if err != nil || status.RunID != "r" || len(status.Trials) != 1 {
		t.Errorf("status %+v, %v", status, err)
	}
}

func TestNoPathOutOfTheDirectory(t *testing.T) {
	s := runner(t, nil)
	c := client(s, token, nil)
	for _, path := range []string{"/v1/trials/..", "/v1/trials/b01-s-i/..%2f..%2frun.json", "/v1/trials/.unfinished-x", "/v1/trials/none/trial.json"} {
		if body, _, err := c.Get(t.Context(), path, url.Values{"offset": {"0"}, "length": {"10"}}); err == nil {
			t.Errorf("%s answered %q", path, body)
		}
	}
}
