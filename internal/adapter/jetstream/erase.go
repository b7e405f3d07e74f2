package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/wholefile"
	"github.com/toolstream/toolstream/pkg/events"
)

// erasedFile names, in the data folder, the records of topics that are not compacted and
// were erased: their places are no damage.
const erasedFile = "erased.json"

// erasing is how many records are deleted at once.
const erasing = 8

// Erase removes the records of a topic that match, and publishes last, which has a key
// that no other record has: a reader that waits for the end of the topic finds it there.
// Their bytes are overwritten, those of records that later ones replaced included. Calling
// it again is harmless, and completes what an error left. It leaves nothing.
func (s *Server) Erase(ctx context.Context, last stream.Message, match func(stream.Message) bool) (left int, err error) {
	if err := s.remove(ctx, last, match); err != nil {
		return 0, fmt.Errorf("jetstream: erase from %s: %w", last.Topic, err)
	}
	return 0, s.scrub(streamName(last.Topic), func(subject string, value []byte) bool {
		m := stream.Message{Topic: last.Topic, Key: keyOf(subject), Value: value}
		return m.Key != last.Key && match(m)
	})
}

// remove deletes the records.
func (s *Server) remove(ctx context.Context, last stream.Message, match func(stream.Message) bool) error {
	// The checkpoint must not know of records that are gone.
	s.checkpointing.Lock()
	defer s.checkpointing.Unlock()
	if err := s.saveCheckpoint(ctx, last.Topic); err != nil {
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
		if err := s.noteErased(last.Topic, found); err != nil {
			return err
		}
	}
	st, err := s.js.Stream(ctx, streamName(last.Topic))
	if err != nil {
		return err
	}
	return deleteAll(ctx, st, found)
}

// deleteAll deletes messages of a stream; one that is not there is no error.
func deleteAll(ctx context.Context, st jetstream.Stream, found []uint64) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(erasing)
	for _, at := range found {
		g.Go(func() error {
			err := st.DeleteMsg(ctx, at)
			if err != nil && !held(ctx, st, at) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}

// noteErased remembers offsets of a topic that are erased.
func (s *Server) noteErased(topic events.Topic, offsets []uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.erased[topic] == nil {
		s.erased[topic] = map[uint64]bool{}
	}
	for _, at := range offsets {
		s.erased[topic][at] = true
	}
	list := map[events.Topic][]uint64{}
	for topic, offsets := range s.erased {
		for at := range offsets {
			list[topic] = append(list[topic], at)
		}
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(s.cfg.Dir, erasedFile), raw, 0o600)
}

// readErased reads what noteErased wrote.
func (s *Server) readErased() error {
	raw, err := os.ReadFile(filepath.Join(s.cfg.Dir, erasedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	list := map[events.Topic][]uint64{}
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return fmt.Errorf("jetstream: %s: %w", erasedFile, err)
	}
	for topic, offsets := range list {
		s.erased[topic] = map[uint64]bool{}
		for _, at := range offsets {
			s.erased[topic][at] = true
		}
	}
	return nil
}

// erasedBetween counts the erased records of a stream behind one offset and before
// another one.
func (s *Server) erasedBetween(name string, behind, before uint64) (n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, offsets := range s.erased {
		if streamName(topic) != name {
			continue
		}
		for at := range offsets {
			if at > behind && at < before {
				n++
			}
		}
	}
	return n
}

// ScrubBuckets overwrites what is left on the disk of the deleted values of buckets whose
// keys match.
func (s *Server) ScrubBuckets(ctx context.Context, match func(bucket, key string) bool) error {
	names := s.js.StreamNames(ctx, jetstream.WithStreamListSubject(kvSubjects+">"))
	for name := range names.Name() {
		bucket := name[len(kvStream):]
		if err := s.scrub(name, func(subject string, _ []byte) bool {
			return match(bucket, subject[len(kvSubjects)+len(bucket)+1:])
		}); err != nil {
			return err
		}
	}
	return names.Err()
}

// How JetStream names buckets.
const (
	kvStream   = "KV_"
	kvSubjects = "$KV."
)
