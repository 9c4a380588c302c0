// Package log would take a logger.
package log

import "log/slog"

// SetDefault does nothing, as nothing is logged.
func SetDefault(*slog.Logger) {}
