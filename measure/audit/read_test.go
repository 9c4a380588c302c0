package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func appendTo(t *testing.T, path string, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func routes(t *testing.T, n int) *script {
	s := newScript(t)
	for i := range n {
		s.create(fmt.Sprint("r", i))
		s.route(eg, fmt.Sprint("r", i), parent{Controller: egName, Gateway: "eg"})
	}
	return s
}

func TestReadFollowsAndMendsTornLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	appendTo(t, path, "what was logged before is not read\n")
	from, err := Mark(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(routes(t, 30).lines, "\n") + "\n"
	half := len(text)/2 + 7
	appendTo(t, path, text[:half])
	time.AfterFunc(100*time.Millisecond, func() { appendTo(t, path, text[half:]) })
	r, err := Read(t.Context(), from, Options{Since: begin, Until: begin.Add(time.Hour), Settle: 400 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r.Lines != 60 || r.Malformed != 0 || r.Torn || r.Objects != 30 {
		t.Errorf("%d lines, %d malformed, torn %v, %d objects", r.Lines, r.Malformed, r.Torn, r.Objects)
	}
}

func TestReadSaysWhatItCouldNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	appendTo(t, path, "")
	from, err := Mark(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := routes(t, 2).lines
	appendTo(t, path, lines[0]+"\n{nonsense}\n"+lines[1]+"\n"+lines[3][:50])
	r, err := Read(t.Context(), from, Options{Since: begin, Until: begin.Add(time.Hour), Settle: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r.Lines != 3 || r.Malformed != 1 || !r.Torn || r.Objects != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := Mark(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("marked a log that is not there")
	}
}

func TestReadAcrossRotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.log")
	appendTo(t, filepath.Join(dir, "audit-2026-01-01T00-00-00.000.log"), "older\n")
	appendTo(t, path, "before\n")
	from, err := Mark(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := routes(t, 3).lines
	appendTo(t, path, strings.Join(lines[:2], "\n")+"\n")
	for i, name := range []string{"audit-2026-03-01T12-00-00.000.log", "audit-2026-03-01T13-00-00.000.log"} {
		if err := os.Rename(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		appendTo(t, path, strings.Join(lines[2*i+2:2*i+4], "\n")+"\n")
	}
	options := Options{Since: begin, Until: begin.Add(time.Hour), Settle: 10 * time.Millisecond}
	r, err := Read(t.Context(), from, options)
	if err != nil {
		t.Fatal(err)
	}
	if r.Lines != 6 || r.Objects != 3 || r.Malformed != 0 {
		t.Errorf("%+v", r)
	}
	if err := os.Remove(filepath.Join(dir, "audit-2026-03-01T12-00-00.000.log")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), from, options); err == nil {
		t.Error("a part of the log is gone, and nothing was said")
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	appendTo(t, path, "")
	from, err := Mark(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Read(ctx, from, Options{Since: begin, Until: time.Now().Add(time.Hour)}); err == nil {
		t.Error("returned before the window had ended")
	}
}

func BenchmarkLine(b *testing.B) {
	s := newScript(nil)
	for range 100 {
		s.create("r")
		s.route(eg, "r", parent{Controller: egName, Gateway: "eg"}, parent{Controller: istioName, Gateway: "istio"})
	}
	size := 0
	for _, l := range s.lines {
		size += len(l)
	}
	b.SetBytes(int64(size / len(s.lines)))
	o := Options{Since: begin}
	o.defaults()
	r := newReader(o)
	for i := 0; b.Loop(); i++ {
		r.line([]byte(s.lines[i%len(s.lines)]))
	}
}
