package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/wholefile"
	"github.com/toolstream/toolstream/pkg/events"
)

// The server opens what it can read of damaged files and says little or nothing
// of the rest: a truncated block ends the stream earlier, a missing block leaves
// a hole. So the bus keeps a checkpoint of what the topics held.

// checkpointFile is the checkpoint, in the data folder.
const checkpointFile = "checkpoint.json"

// checkpointEvery is how old the checkpoint may be after a crash.
const checkpointEvery = 5 * time.Second

// extent is what a topic holds.
type extent struct {
	Last uint64 `json:"last"` // offset
	Keys uint64 `json:"keys"` // of a compacted topic, 0 for any other
}

func (s *Server) extent(ctx context.Context, topic events.Topic) (extent, error) {
	st, err := s.js.Stream(ctx, streamName(topic))
	if err != nil {
		return extent{}, fmt.Errorf("jetstream: state of %s: %w", topic, err)
	}
	state := st.CachedInfo().State
	e := extent{Last: state.LastSeq}
	if topic.Compacted() {
		e.Keys = state.NumSubjects
	}
	return e, nil
}

// lost returns the error of a bus that holds less than it has acknowledged, and nil,
// with a log line, if the loss is accepted.
func (s *Server) lost(what string) error {
	if s.cfg.AcceptLoss {
		s.log.Error("the bus lost messages, and the loss was accepted", "what", what)
		return nil
	}
	return s.lossError(what)
}

func (s *Server) lossError(what string) error {
	return stream.Permanent(stream.ReasonLost, fmt.Errorf(
		"the bus in %s lost messages: %s; restore the folder from a backup, or accept the loss (bus.accept_loss) and import again",
		s.cfg.Dir, what))
}

func behind(topic events.Topic, end uint64, reader string, at uint64) string {
	return fmt.Sprintf("topic %s ends at %d, and %s had read up to %d", topic, end, reader, at)
}

// checkCheckpoint compares the topics with the checkpoint, and with the positions
// of their readers.
func (s *Server) checkCheckpoint(ctx context.Context) error {
	known, err := s.readCheckpoint()
	if err != nil {
		return err
	}
	for _, topic := range s.topics() {
		now, err := s.extent(ctx, topic)
		if err != nil {
			return err
		}
		s.opened[topic] = now.Last
		before := known[topic]
		delete(known, topic)
		var what string
		switch {
		case now.Last < before.Last:
			what = fmt.Sprintf("topic %s ends at %d and had reached %d", topic, now.Last, before.Last)
		case now.Keys < before.Keys:
			what = fmt.Sprintf("topic %s holds %d keys and held %d", topic, now.Keys, before.Keys)
		default:
			if err := s.checkLast(ctx, topic, now.Last); err != nil {
				return err
			}
			continue
		}
		if err := s.lost(what); err != nil {
			return err
		}
	}
	for topic := range known {
		if err := s.lost(fmt.Sprintf("topic %s is gone", topic)); err != nil {
			return err
		}
	}
	return s.checkPositions(ctx)
}

// readCheckpoint returns an empty checkpoint for a new bus.
func (s *Server) readCheckpoint() (map[events.Topic]extent, error) {
	raw, err := os.ReadFile(filepath.Join(s.cfg.Dir, checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	known := map[events.Topic]extent{}
	if err := json.Unmarshal(raw, &known); err != nil {
		s.log.Error("the bus cannot tell whether it lost messages: its checkpoint is damaged", "file", checkpointFile, "error", err)
		return nil, nil
	}
	return known, nil
}

// keepCheckpoint keeps the checkpoint up to date until the bus closes.
func (s *Server) keepCheckpoint() {
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-tick.C:
			if !s.checkpointing.TryLock() {
				continue // while something is removed
			}
			ctx, cancel := context.WithTimeout(context.Background(), checkpointEvery)
			err := s.saveCheckpoint(ctx, "")
			cancel()
			s.checkpointing.Unlock()
			if err != nil {
				s.log.Warn("the checkpoint of the bus was not written", "error", err)
			}
		}
	}
}

func (s *Server) writeCheckpoint(ctx context.Context) error {
	s.checkpointing.Lock()
	defer s.checkpointing.Unlock()
	return s.saveCheckpoint(ctx, "")
}

// saveCheckpoint writes what the topics hold, one topic left out, unless that is
// what the file says. The caller holds checkpointing.
func (s *Server) saveCheckpoint(ctx context.Context, except events.Topic) error {
	now := map[events.Topic]extent{}
	for _, topic := range s.topics() {
		if topic == except {
			continue
		}
		e, err := s.extent(ctx, topic)
		if err != nil {
			return err
		}
		now[topic] = e
	}
	if maps.Equal(now, s.checkpoint) {
		return nil
	}
	raw, err := json.MarshalIndent(now, "", "\t")
	if err == nil {
		err = wholefile.Write(filepath.Join(s.cfg.Dir, checkpointFile), raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("jetstream: write %s: %w", checkpointFile, err)
	}
	s.checkpoint = now
	return nil
}
