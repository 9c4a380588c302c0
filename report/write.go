package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gatemark/gatemark/result"
)

// A format is one way to render a run.
type format struct {
	name   string
	file   string
	render func(w io.Writer, v *view) error
}

var formats = []format{
	{"html", "report.html", writeHTML},
	{"md", "report.md", writeMarkdown},
	{"json", "report.json", writeJSON},
}

// Formats names the formats that Render knows, in the order in which they are
// offered.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Write renders every format into the run's directory, from run.json and the
// trials beside it. Reports that are there already are replaced, each one
// whole or not at all.
func Write(dir result.Directory) error {
	run, trials, err := Read(dir)
	if err != nil {
		return err
	}
	v := newView(run, trials)
	for _, f := range formats {
		var b bytes.Buffer
		if err := f.render(&b, v); err != nil {
			return fmt.Errorf("render %s of run %s: %w", f.file, run.ID, err)
		}
		if err := replace(filepath.Join(string(dir), f.file), b.Bytes()); err != nil {
			return fmt.Errorf("write %s: %w", f.file, err)
		}
	}
	return writePictures(dir, v)
}

// Read reads a run and its whole trials.
func Read(dir result.Directory) (*result.Run, []*result.Trial, error) {
	run, err := dir.ReadRun()
	if err != nil {
		return nil, nil, err
	}
	trials, err := dir.ReadTrials()
	if err != nil {
		return nil, nil, err
	}
	return run, trials, nil
}

// Render writes one format, one of Formats, to w.
func Render(w io.Writer, name string, run *result.Run, trials []*result.Trial) error {
	for _, f := range formats {
		if f.name == name {
			return f.render(w, newView(run, trials))
		}
	}
	return fmt.Errorf("render %q: not one of %v", name, Formats())
}

// replace puts a file in place of an older one, so that a reader never sees
// half of it.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // of no effect after the rename
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
