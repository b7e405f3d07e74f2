package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

var _ stream.Topics = (*Server)(nil)

// prepare creates the streams or brings them up to date, and starts their writers.
func (s *Server) prepare(ctx context.Context) error {
	kv, err := s.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: positionsBucket, Storage: jetstream.FileStorage})
	if err != nil {
		return fmt.Errorf("jetstream: bucket of positions: %w", err)
	}
	s.positions = positions{kv, s.failure}
	versions, err := s.Versions(ctx)
	if err != nil {
		return err
	}
	topics := events.Topics()
	for _, n := range versions {
		topics = append(topics, events.Embedded(n))
	}
	for _, topic := range topics {
		if err := s.Create(ctx, topic); err != nil {
			return err
		}
	}
	return nil
}

// Create implements stream.Topics.
func (s *Server) Create(ctx context.Context, topic events.Topic) error {
	if !topic.Known() {
		return fmt.Errorf("jetstream: create: unknown topic %q", topic)
	}
	if _, err := s.js.CreateOrUpdateStream(ctx, s.cfg.streamConfig(topic)); err != nil {
		return fmt.Errorf("jetstream: create topic %s: %w", topic, err)
	}
	s.writers.start(topic)
	return nil
}

// streamConfig describes a topic's stream. A compacted topic is never cut for
// its size: a full disk fails publishing instead.
func (c Config) streamConfig(topic events.Topic) jetstream.StreamConfig {
	cfg := jetstream.StreamConfig{
		Name:               streamName(topic),
		Subjects:           []string{allSubjects(topic)},
		Storage:            jetstream.FileStorage,
		Discard:            jetstream.DiscardOld,
		AllowDirect:        true,
		AllowAtomicPublish: true,
	}
	if topic.Compacted() {
		cfg.MaxMsgsPerSubject = 1
	} else {
		cfg.MaxAge, cfg.MaxBytes = maxAge, c.maxStream()
	}
	cfg.DenyDelete, cfg.DenyPurge = topic == events.Audit, topic == events.Audit
	return cfg
}

// Remove implements stream.Topics. The checkpoint forgets the topic first, because a
// removed topic is not a loss.
func (s *Server) Remove(ctx context.Context, topic events.Topic) error {
	s.losses.saving.Lock()
	defer s.losses.saving.Unlock()
	if err := s.losses.saveLocked(ctx, topic); err != nil {
		return err
	}
	err := s.js.DeleteStream(ctx, streamName(topic))
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("jetstream: remove topic %s: %w", topic, err)
	}
	if slices.Contains(events.Topics(), topic) {
		return s.Create(ctx, topic)
	}
	s.writers.remove(topic)
	return nil
}

// Versions implements stream.Topics.
func (s *Server) Versions(ctx context.Context) ([]int, error) {
	var found []int
	names := s.js.StreamNames(ctx)
	for name := range names.Name() {
		rest, ok := strings.CutPrefix(name, streamName(events.ToolsEmbedded))
		if n := (events.ToolsEmbedded + events.Topic(rest)).IndexVersion(); ok && n > 1 {
			found = append(found, n)
		}
	}
	if err := names.Err(); err != nil {
		return nil, fmt.Errorf("jetstream: list topics: %w", err)
	}
	slices.Sort(found)
	return found, nil
}

// Forget implements stream.Topics.
func (s *Server) Forget(ctx context.Context, topic events.Topic, group string) error {
	return s.positions.save(ctx, consumer{group, topic}, 0)
}
