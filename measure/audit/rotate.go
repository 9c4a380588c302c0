package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// filesSince lists the files that hold the log after a position, oldest first.
// The API server rotates by renaming audit.log to audit-<time>.log beside it.
func filesSince(from Position) ([]string, error) {
	now, err := os.Stat(from.path)
	if err != nil {
		return nil, err
	}
	if os.SameFile(now, from.file) {
		return []string{from.path}, nil
	}
	ext := filepath.Ext(from.path)
	rotated, err := filepath.Glob(strings.TrimSuffix(from.path, ext) + "-*" + ext)
	if err != nil {
		return nil, err
	}
	slices.Sort(rotated) // their names are times
	for i, path := range rotated {
		info, err := os.Stat(path)
		if err == nil && os.SameFile(info, from.file) {
			return append(rotated[i:], from.path), nil
		}
	}
	return nil, fmt.Errorf("the file that was marked is gone: it was rotated away; raise --audit-log-maxsize or --audit-log-maxbackup")
}
