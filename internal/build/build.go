// Package build tells which gatemark this is.
package build

import (
	"runtime"
	"runtime/debug"
)

// version is set by the linker for releases.
var version = "dev"

// Info is the version, commit and Go version of this executable.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// commit is set by the linker where the toolchain does not stamp it.
var commit string

// Current returns what this executable was built from.
func Current() Info {
	info := Info{Version: version, Commit: commit, Go: runtime.Version()}
	if info.Commit != "" {
		return info
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		dirty := ""
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Commit = s.Value
			case "vcs.modified":
				if s.Value == "true" {
					dirty = "+dirty"
				}
			}
		}
		if info.Commit != "" {
			info.Commit += dirty
		}
	}
	return info
}
