package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
)

// coverEvery is how long a process waits between two looks at what is covered, and
// up to as much again by chance: of several, one is then the first.
const coverEvery = 2 * time.Second

// uncover puts the newest change of an entity to the end of tools.raw again where
// an older one has come to lie behind it, until ctx ends. That happens where two
// processes decide on one entity at once, or where the bus stores late what was
// given up. Whoever reads both records takes the newer one; compaction keeps the
// last.
func (s *Service) uncover(ctx context.Context) {
	select {
	case <-s.loaded:
	case <-ctx.Done():
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(coverEvery + rand.N(coverEvery)):
		}
		for key, at := range s.table.covered() {
			if err := s.uncoverOne(ctx, key, at); err != nil && ctx.Err() == nil {
				s.log.Warn("ingest: an older change lies behind a newer one; trying again to put the newer one to the end", "key", key, "error", err)
			}
		}
	}
}

// uncoverOne puts one record to the end, and waits until it was read there: another
// look would put it there once more.
func (s *Service) uncoverOne(ctx context.Context, key string, at place) error {
	m, found, err := stream.ReadAt(ctx, s.follower, events.ToolsRaw, int(at.partition), at.offset)
	if err != nil {
		return err
	}
	if !s.table.lies(key, at) {
		return nil // it was changed meanwhile
	}
	if !found || m.Key != key {
		if s.table.abandon(key, at) {
			s.log.Error("ingest: compaction has dropped the newest change and kept an older one; send the entity again", "key", key)
		}
		return nil
	}
	m.Headers = tracing.Without(m.Headers)
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	if err := s.publisher.Publish(ctx, m); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	s.metrics.uncovered.Inc()
	return s.catchUp(ctx)
}
