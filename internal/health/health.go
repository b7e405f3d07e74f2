// Package health tells a log when something stops working and when it works
// again, and is silent in between.
package health

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// State is whether something works. Its zero value does.
type State struct{ fails atomic.Bool }

// Fails reports whether the last outcome was an error.
func (s *State) Fails() bool { return s.fails.Load() }

// Note takes an outcome. The first error after successes is logged with the words
// of fails, the first success after errors with those of works.
func (s *State) Note(ctx context.Context, log *slog.Logger, err error, fails, works string, args ...any) {
	switch was := s.fails.Swap(err != nil); {
	case err != nil && !was:
		log.WarnContext(ctx, fails, append(args, "error", err)...)
	case err == nil && was:
		log.InfoContext(ctx, works, args...)
	}
}
