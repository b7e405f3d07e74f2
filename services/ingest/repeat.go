package ingest

import (
	"context"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Repeat publishes the newest record of an entity again, as it is, because an older one follows it
// on a topic. All stages make their records from it again, so that it is the last one on each.
// More calls than one do no harm. After an error a call may be repeated.
func (s *Service) Repeat(ctx context.Context, ref schema.Ref) error {
	if err := s.replica.current(ctx); err != nil {
		return err
	}
	key := events.Key(ref)
	known, _, _ := s.replica.table.get(key)
	if known.offset == 0 {
		return nil // nothing of it is left, or a newer record is on its way
	}
	m, found, err := stream.ReadAt(ctx, s.follower, events.ToolsRaw, known.partition, known.offset)
	if err != nil || !found || m.Key != key {
		return err
	}
	m.Headers = telemetry.WithoutTrace(m.Headers)
	m.Headers[events.HeaderRefreshed] = "order"
	// A newer record that is accepted meanwhile ends up before this one, which is found again.
	if err := s.committer.publisher.Publish(ctx, m); err != nil {
		return unavailable(err)
	}
	s.metrics.repeated.Inc()
	s.log.Info("published a change again: an older change followed it", "key", key, "revision", known.Revision)
	return nil
}
