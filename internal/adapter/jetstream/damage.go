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

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// endsFile records, at every orderly close, where each stream ended. A stream
// that ends earlier when it is opened has lost messages.
const endsFile = "ends.json"

// ends is the content of endsFile: last sequence by stream.
type ends map[string]uint64

// lost describes a bus that holds less than it has acknowledged.
func (s *Server) lost(format string, args ...any) error {
	return stream.Permanent(stream.ReasonLost, fmt.Errorf(
		"the bus in %s lost messages: %s; restore the folder from a backup, or move it away and import again",
		s.cfg.Dir, fmt.Sprintf(format, args...)))
}

// state of a stream as the server tells it, with what its client leaves out.
type state struct {
	LastSeq uint64 `json:"last_seq"`
	Lost    *struct {
		Msgs  []uint64 `json:"msgs"`
		Bytes uint64   `json:"bytes"`
	} `json:"lost"`
}

func (s *Server) state(ctx context.Context, name string) (state, error) {
	answer, err := s.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+name, nil)
	if err != nil {
		return state{}, fmt.Errorf("jetstream: state of %s: %w", name, err)
	}
	var info struct {
		State state               `json:"state"`
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &info); err != nil {
		return state{}, fmt.Errorf("jetstream: state of %s: %w", name, err)
	}
	if info.Error != nil {
		return state{}, fmt.Errorf("jetstream: state of %s: %w", name, info.Error)
	}
	return info.State, nil
}

// checkEnds compares each stream with what the server noticed itself and with
// the last orderly close. The server alone recovers what is readable and is
// silent about a cut end.
func (s *Server) checkEnds(ctx context.Context) error {
	known, err := s.loadEnds()
	if err != nil {
		return err
	}
	for _, name := range s.streams() {
		st, err := s.state(ctx, name)
		if err != nil {
			return err
		}
		if st.Lost != nil && len(st.Lost.Msgs) > 0 {
			return s.lost("%d messages of stream %s can not be read", len(st.Lost.Msgs), name)
		}
		if st.LastSeq < known[name] {
			return s.lost("stream %s ends at %d and had reached %d", name, st.LastSeq, known[name])
		}
	}
	return nil
}

// checkEnd refuses a position behind the end of a topic: its messages were
// there and are not any more.
func (s *Server) checkEnd(ctx context.Context, topic events.Topic, at uint64, who string) error {
	st, err := s.state(ctx, s.cfg.streamName(topic))
	if err != nil {
		return err
	}
	if at > st.LastSeq {
		return s.lost("topic %s ends at %d, and %s had read up to %d", topic, st.LastSeq, who, at)
	}
	return nil
}

func (s *Server) streams() []string {
	var names []string
	for _, topic := range events.Topics() {
		names = append(names, s.cfg.streamName(topic))
	}
	return append(names, s.cfg.streamName(positionsTopic))
}

func (s *Server) loadEnds() (ends, error) {
	raw, err := os.ReadFile(filepath.Join(s.cfg.Dir, endsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	var known ends
	if err := json.Unmarshal(raw, &known); err != nil {
		return nil, fmt.Errorf("jetstream: read %s: %w", endsFile, err)
	}
	return known, nil
}

// saveEnds replaces the file in one step.
func (s *Server) saveEnds(ctx context.Context) error {
	now := ends{}
	for _, name := range s.streams() {
		st, err := s.state(ctx, name)
		if err != nil {
			return err
		}
		now[name] = st.LastSeq
	}
	raw, err := json.Marshal(now)
	if err != nil {
		return fmt.Errorf("jetstream: write %s: %w", endsFile, err)
	}
	path := filepath.Join(s.cfg.Dir, endsFile)
	if err := os.WriteFile(path+".new", raw, 0o600); err != nil {
		return fmt.Errorf("jetstream: write %s: %w", endsFile, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("jetstream: write %s: %w", endsFile, err)
	}
	return nil
}
