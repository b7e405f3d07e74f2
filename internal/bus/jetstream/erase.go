package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// Erase deletes the matching records of a topic, and publishes last, whose key no other record
// has: a reader that waits for the end of the topic finds it there. Repeating it is harmless, and
// completes a failed erasure. No record is left, but bytes stay in the files of the server until
// it compacts them.
func (s *Server) Erase(ctx context.Context, last stream.Message, match func(stream.Message) bool) (left int, err error) {
	if err := s.erase(ctx, last, match); err != nil {
		return 0, fmt.Errorf("jetstream: erase from %s: %w", last.Topic, err)
	}
	return 0, nil
}

func (s *Server) erase(ctx context.Context, last stream.Message, match func(stream.Message) bool) error {
	// The checkpoint must not count records that are about to go.
	s.losses.saving.Lock()
	defer s.losses.saving.Unlock()
	if err := s.losses.saveLocked(ctx, last.Topic); err != nil {
		return err
	}
	if err := s.Publish(ctx, last); err != nil {
		return err
	}
	var found []uint64
	if err := stream.ReadAll(ctx, s, last.Topic, func(m stream.Message) {
		if m.Key != last.Key && match(m) {
			found = append(found, m.Offset)
		}
	}); err != nil || len(found) == 0 {
		return err
	}
	if !last.Topic.Compacted() {
		if err := s.erased.add(last.Topic, found); err != nil {
			return err
		}
	}
	st, err := s.js.Stream(ctx, streamName(last.Topic))
	if err != nil {
		return err
	}
	return deleteAll(ctx, st, found)
}

// deletesAtOnce is how many records are deleted concurrently.
const deletesAtOnce = 8

// deleteAll deletes messages of a stream. A missing message is not an error.
func deleteAll(ctx context.Context, st jetstream.Stream, offsets []uint64) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(deletesAtOnce)
	for _, at := range offsets {
		g.Go(func() error {
			err := st.DeleteMsg(ctx, at)
			if err != nil && !holds(ctx, st, at) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}
