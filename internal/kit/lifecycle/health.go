// Package lifecycle runs the services of a process together, and logs when something stops
// working and when it works again.
package lifecycle

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// Health is whether something works. Its zero value does.
type Health struct{ fails atomic.Bool }

// Fails reports whether the last outcome was an error.
func (s *Health) Fails() bool { return s.fails.Load() }

// LogChange takes an outcome. It logs the first error after successes with the words of fails,
// and the first success after errors with the words of works.
func (s *Health) LogChange(ctx context.Context, log *slog.Logger, err error, fails, works string, args ...any) {
	switch was := s.fails.Swap(err != nil); {
	case err != nil && !was:
		log.WarnContext(ctx, fails, append(args, "error", err)...)
	case err == nil && was:
		log.InfoContext(ctx, works, args...)
	}
}
