package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// A Directory is a run on disk:
//
//	run.json
//	trials/<id>/trial.json and the trial's attachments
//
// A trial's directory appears whole or not at all: it is written beside its
// place, synced, and renamed.
type Directory string

const (
	runFile    = "run.json"
	trialFile  = "trial.json"
	trialsDir  = "trials"
	unfinished = ".unfinished-"
)

// WriteRun writes run.json in place of an older one, atomically.
func (d Directory) WriteRun(run *Run) error {
	data, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return fmt.Errorf("encode run %s: %w", run.ID, err)
	}
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return err
	}
	temporary := filepath.Join(string(d), unfinished+runFile)
	if err := writeSynced(temporary, data); err != nil {
		return err
	}
	if err := os.Rename(temporary, filepath.Join(string(d), runFile)); err != nil {
		return err
	}
	return syncDir(string(d))
}

// ReadRun reads run.json. It refuses a schema that it does not know.
func (d Directory) ReadRun() (*Run, error) {
	path := filepath.Join(string(d), runFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	run := new(Run)
	if err := json.Unmarshal(data, run); err != nil {
		return nil, fmt.Errorf("read run %s: %w", path, err)
	}
	if err := checkSchema(run.SchemaVersion); err != nil {
		return nil, fmt.Errorf("read run %s: %w", path, err)
	}
	return run, nil
}

// WriteTrial makes a finished trial durable with its attachments, by name.
// Writing a trial that is there already is an error: results are not changed.
func (d Directory) WriteTrial(trial *Trial, attachments map[string][]byte) error {
	for _, s := range trial.Series {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("write trial %s: %w", trial.ID, err)
		}
	}
	data, err := json.Marshal(trial)
	if err != nil {
		return fmt.Errorf("encode trial %s: %w", trial.ID, err)
	}
	files := map[string][]byte{trialFile: data}
	for name, content := range attachments {
		files[name] = content
	}
	return d.PutTrial(trial.ID, files)
}

// PutTrial makes the files of a finished trial durable, as WriteTrial does,
// for files that come encoded.
func (d Directory) PutTrial(id string, files map[string][]byte) error {
	parent := filepath.Join(string(d), trialsDir)
	place, temporary := filepath.Join(parent, id), filepath.Join(parent, unfinished+id)
	if _, err := os.Stat(place); err == nil {
		return fmt.Errorf("write trial %s: %w", id, fs.ErrExist)
	}
	if err := os.RemoveAll(temporary); err != nil {
		return err
	}
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("write trial %s: file name %q leaves its directory", id, name)
		}
		path := filepath.Join(temporary, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := writeSynced(path, content); err != nil {
			return err
		}
	}
	if err := syncDir(temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, place); err != nil {
		return err
	}
	return syncDir(parent)
}

// TrialIDs lists the whole trials, sorted.
func (d Directory) TrialIDs() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(string(d), trialsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), unfinished) {
			ids = append(ids, e.Name())
		}
	}
	sort.Strings(ids)
	return ids, nil
}

// TrialFiles lists the files of a trial, as paths within its directory.
func (d Directory) TrialFiles(id string) ([]string, error) {
	root := d.TrialPath(id)
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		files = append(files, name)
		return err
	})
	return files, err
}

// TrialPath is the directory of a trial.
func (d Directory) TrialPath(id string) string {
	return filepath.Join(string(d), trialsDir, id)
}

// ReadTrial reads one trial.
func (d Directory) ReadTrial(id string) (*Trial, error) {
	path := filepath.Join(d.TrialPath(id), trialFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read trial: %w", err)
	}
	trial := new(Trial)
	if err := json.Unmarshal(data, trial); err != nil {
		return nil, fmt.Errorf("read trial %s: %w", path, err)
	}
	if err := checkSchema(trial.SchemaVersion); err != nil {
		return nil, fmt.Errorf("read trial %s: %w", path, err)
	}
	return trial, nil
}

// ReadTrials reads every whole trial, in the order in which they started.
func (d Directory) ReadTrials() ([]*Trial, error) {
	ids, err := d.TrialIDs()
	if err != nil {
		return nil, err
	}
	trials := make([]*Trial, 0, len(ids))
	for _, id := range ids {
		trial, err := d.ReadTrial(id)
		if err != nil {
			return nil, err
		}
		trials = append(trials, trial)
	}
	sort.SliceStable(trials, func(i, j int) bool { return trials[i].Started.Before(trials[j].Started) })
	return trials, nil
}

func checkSchema(version string) error {
	ours, _, _ := strings.Cut(SchemaVersion, ".")
	theirs, _, _ := strings.Cut(version, ".")
	if theirs != ours {
		return fmt.Errorf("schema version %q: this gatemark reads version %s", version, SchemaVersion)
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
