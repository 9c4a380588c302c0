package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/gatemark/gatemark/internal/failure"
)

// CacheDir is where gatemark keeps what it can make again:
// $GATEMARK_CACHE_DIR, else gatemark in the user's cache directory.
func CacheDir() (string, error) {
	if dir := os.Getenv("GATEMARK_CACHE_DIR"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", failure.Hint(fmt.Errorf("no place for a cache: %w", err), "set GATEMARK_CACHE_DIR")
	}
	return filepath.Join(dir, "gatemark"), nil
}

// A cache holds KEY.tar with its record KEY.json. The record is written
// last and both are renamed into place, so a crash leaves either a whole
// image or none.
type cache struct{ dir string }

// A record is what the cache knows of one image.
type record struct {
	Image
	Inputs    []string          `json:"inputs"`
	Libraries map[string]string `json:"libraries,omitempty"` // path in the image to sha256
	Size      int64             `json:"size"`                // of the tar, bytes
	SHA256    string            `json:"sha256"`              // of the tar
	Modified  time.Time         `json:"modified"`            // of the tar
}

func (c cache) tar(key string) string    { return filepath.Join(c.dir, key+".tar") }
func (c cache) record(key string) string { return filepath.Join(c.dir, key+".json") }
func (c cache) work(key string) string   { return filepath.Join(c.dir, key+".work") }

// lookup returns the image under key, or fs.ErrNotExist where there is none
// that is whole.
func (c cache) lookup(key string) (record, error) {
	var r record
	data, err := os.ReadFile(c.record(key))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w (%w)", c.record(key), fs.ErrNotExist, err)
	}
	info, err := os.Stat(c.tar(key))
	if err != nil {
		return r, err
	}
	if info.Size() != r.Size {
		return r, fmt.Errorf("%s: %d bytes, want %d: %w", c.tar(key), info.Size(), r.Size, fs.ErrNotExist)
	}
	// Reading 100 MB takes a while; an untouched file is the file we wrote.
	if !info.ModTime().Equal(r.Modified) {
		if sum, err := sha256File(c.tar(key)); err != nil || sum != r.SHA256 {
			return r, fmt.Errorf("%s: its contents changed: %w", c.tar(key), fs.ErrNotExist)
		}
	}
	r.Tar = c.tar(key)
	return r, nil
}

// once returns the image under key, made by make if there is none. Of
// several processes that ask at once, one makes it and the others wait.
// make gets an empty directory to work in and leaves the tar at image.tar.
func (c cache) once(ctx context.Context, key string, make func(work string) (record, error)) (record, error) {
	r, err := c.lookup(key)
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return record{}, err
	}
	lock := flock.New(filepath.Join(c.dir, key+".lock"))
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return record{}, fmt.Errorf("waiting for another process that makes image %s: %w", key, err)
	}
	defer lock.Close()
	if r, err := c.lookup(key); !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	return c.fill(key, make)
}

func (c cache) fill(key string, make func(work string) (record, error)) (record, error) {
	work := c.work(key)
	if err := os.RemoveAll(work); err != nil { // of a crash
		return record{}, err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return record{}, err
	}
	defer os.RemoveAll(work)
	r, err := make(work)
	if err != nil {
		return record{}, err
	}
	tar := filepath.Join(work, "image.tar")
	if r.SHA256, err = sha256File(tar); err != nil {
		return record{}, err
	}
	info, err := os.Stat(tar)
	if err != nil {
		return record{}, err
	}
	r.Size, r.Modified = info.Size(), info.ModTime()
	r.Tar = c.tar(key)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return record{}, err
	}
	js := filepath.Join(work, "image.json")
	if err := os.WriteFile(js, data, 0o644); err != nil {
		return record{}, err
	}
	if err := errors.Join(syncFile(tar), syncFile(js)); err != nil {
		return record{}, err
	}
	// A record of what is replaced must not outlive it.
	if err := os.Remove(c.record(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return record{}, err
	}
	if err := os.Rename(tar, c.tar(key)); err != nil {
		return record{}, err
	}
	return r, os.Rename(js, c.record(key))
}

func syncFile(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
