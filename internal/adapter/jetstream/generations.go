package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

var _ stream.Topics = (*Server)(nil)

// topics are those of the pipeline, those of generations and the bus's own.
func (s *Server) topics() []events.Topic {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(append(events.Topics(), s.generations...), positionsTopic)
}

// Create implements stream.Topics.
func (s *Server) Create(ctx context.Context, topic events.Topic) error {
	if !topic.Known() {
		return fmt.Errorf("jetstream: create: unknown topic %q", topic)
	}
	if err := s.prepareStream(ctx, s.cfg.streamConfig(topic)); err != nil {
		return fmt.Errorf("jetstream: create topic %s: %w", topic, err)
	}
	s.adopt(topic)
	return nil
}

// adopt takes in a topic that is there.
func (s *Server) adopt(topic events.Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if topic.Generation() > 1 && !slices.Contains(s.generations, topic) {
		s.generations = append(s.generations, topic)
	}
	if s.lanes[topic] == nil {
		s.startLane(topic)
	}
}

// Remove implements stream.Topics. The witness forgets the topic first: what is
// given up is not lost.
func (s *Server) Remove(ctx context.Context, topic events.Topic) error {
	s.witnessing.Lock()
	defer s.witnessing.Unlock()
	s.mu.Lock()
	s.generations = slices.DeleteFunc(s.generations, func(t events.Topic) bool { return t == topic })
	s.mu.Unlock()
	if err := s.witness(ctx, topic); err != nil {
		return err
	}
	err := s.js.DeleteStream(ctx, s.cfg.streamName(topic))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = nil
	}
	if err == nil && slices.Contains(events.Topics(), topic) {
		err = s.prepareStream(ctx, s.cfg.streamConfig(topic))
	}
	if err != nil {
		return fmt.Errorf("jetstream: remove topic %s: %w", topic, err)
	}
	return nil
}

// Generations implements stream.Topics.
func (s *Server) Generations(ctx context.Context) ([]int, error) {
	var found []int
	names := s.js.StreamNames(ctx)
	prefix := s.cfg.streamName(events.ToolsEmbedded)
	for name := range names.Name() {
		rest, ok := strings.CutPrefix(name, prefix)
		if n := (events.ToolsEmbedded + events.Topic(rest)).Generation(); ok && n > 1 {
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
	for partition := range s.cfg.Partitions {
		if err := s.savePosition(ctx, claim{group, topic, partition}, 0); err != nil {
			return err
		}
	}
	return nil
}
