package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/pkg/events"
)

// keptGenerations is how many generations from the second on publish at a time.
const keptGenerations = 2

// partitionsKey is where a stream's metadata says how many partitions it has.
const partitionsKey = "toolstream-partitions"

// prepare creates the streams or brings them up to date.
func (s *Server) prepare(ctx context.Context) error {
	for _, topic := range events.Topics() {
		if err := s.prepareStream(ctx, s.cfg.streamConfig(topic)); err != nil {
			return fmt.Errorf("jetstream: stream of topic %s: %w", topic, err)
		}
	}
	if err := s.prepareStream(ctx, s.cfg.positionsConfig()); err != nil {
		return fmt.Errorf("jetstream: stream of positions: %w", err)
	}
	numbers, err := s.Generations(ctx)
	for _, n := range numbers {
		s.generations = append(s.generations, events.Embedded(n))
	}
	return err
}

func (s *Server) prepareStream(ctx context.Context, want jetstream.StreamConfig) error {
	have, err := s.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = s.js.CreateStream(ctx, want)
		return err
	}
	if err != nil {
		return err
	}
	// Another count would give keys another home, where their newest record
	// does not replace the older one.
	if n := have.CachedInfo().Config.Metadata[partitionsKey]; n != want.Metadata[partitionsKey] {
		return fmt.Errorf("it has %s partitions and is asked to have %s: the number can not change", n, want.Metadata[partitionsKey])
	}
	_, err = s.js.UpdateStream(ctx, want)
	return err
}

// streamConfig describes a topic's stream. A compacted topic is never cut for
// its size: a full disk fails publishing instead.
func (c Config) streamConfig(topic events.Topic) jetstream.StreamConfig {
	cfg := jetstream.StreamConfig{
		Name:               c.streamName(topic),
		Subjects:           c.subjects(topic),
		Storage:            jetstream.FileStorage,
		AllowDirect:        true,
		AllowAtomicPublish: true,
		Metadata:           map[string]string{partitionsKey: strconv.Itoa(c.Partitions)},
	}
	if topic.Compacted() {
		cfg.MaxMsgsPerSubject = 1
		cfg.Discard = jetstream.DiscardOld
		return cfg
	}
	cfg.MaxAge = c.MaxAge
	cfg.MaxBytes = c.MaxBytes
	cfg.Discard = jetstream.DiscardOld
	return cfg
}

// subjects of a topic: those of its partitions and no others.
func (c Config) subjects(topic events.Topic) []string {
	out := make([]string, c.Partitions)
	for p := range out {
		out[p] = c.partitionSubject(topic, p) + ".>"
	}
	return out
}
