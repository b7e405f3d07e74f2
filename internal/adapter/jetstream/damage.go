package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// The server opens what it can read of damaged files and says little or
// nothing of the rest: a truncated block ends the stream earlier, a missing
// one leaves a hole, and a record with a flipped bit is skipped in reading. So
// the bus keeps a witness of its own of what the streams held.

// witnessFile is the witness, in the data folder.
const witnessFile = "witness.json"

// witnessEvery is how much of the last writes before a crash the witness may
// not know.
const witnessEvery = 5 * time.Second

// witness is what each stream held when it was written.
type witness map[string]state

// state of a stream.
type state struct {
	First  uint64    `json:"first_seq"`
	Oldest time.Time `json:"first_ts"`
	Last   uint64    `json:"last_seq"`
	Msgs   uint64    `json:"messages"`
	Keys   uint64    `json:"num_subjects"`
	Bytes  uint64    `json:"bytes"`
}

// holes are the messages that are missing between the first and the last one.
func (s state) holes() uint64 {
	if s.Msgs == 0 {
		return 0
	}
	return s.Last - s.First + 1 - s.Msgs
}

// lost is the error of a bus that holds less than it has acknowledged.
func (s *Server) lost(what string) error {
	return stream.Permanent(stream.ReasonLost, fmt.Errorf(
		"the bus in %s lost messages: %s; restore the folder from a backup, or accept the loss (bus.accept_loss) and import again",
		s.cfg.Dir, what))
}

func (s *Server) state(ctx context.Context, name string) (state, error) {
	st, err := s.js.Stream(ctx, name)
	if err != nil {
		return state{}, fmt.Errorf("jetstream: state of %s: %w", name, err)
	}
	is := st.CachedInfo().State
	return state{First: is.FirstSeq, Oldest: is.FirstTime, Last: is.LastSeq, Msgs: is.Msgs, Keys: is.NumSubjects, Bytes: is.Bytes}, nil
}

func compacted(t events.Topic) bool { return t.Compacted() || t == positionsTopic }

// checkWitness compares the streams with the witness.
func (s *Server) checkWitness(ctx context.Context) error {
	known, err := s.readWitness()
	if err != nil {
		return err
	}
	for topic := range known {
		if !slices.Contains(s.topics(), events.Topic(topic)) {
			if err := s.tell(fmt.Sprintf("topic %s is gone", topic)); err != nil {
				return err
			}
		}
	}
	for _, topic := range s.topics() {
		now, err := s.state(ctx, s.cfg.streamName(topic))
		if err != nil {
			return err
		}
		s.opened[topic] = now.Last
		what := s.cfg.missing(topic, known[string(topic)], now)
		if what == "" && topic.Compacted() && now.Msgs > 0 && !s.holds(ctx, topic, now.Last) {
			// Whoever waits until it has read everything would wait for ever.
			what = fmt.Sprintf("of topic %s the last record, %d, can not be read", topic, now.Last)
			s.torn[topic] = tornEnd{now.Last, s.lastReadable(ctx, topic, now)}
		}
		if what != "" {
			if err := s.tell(what); err != nil {
				return err
			}
		}
	}
	return s.checkPositions(ctx)
}

// tornEnd is a last record that can not be read, and the last one that can.
type tornEnd struct{ last, readable uint64 }

// lastReadable returns the offset of a topic's last record that can be read, 0 for none.
func (s *Server) lastReadable(ctx context.Context, topic events.Topic, now state) uint64 {
	for at := now.Last; at >= now.First && ctx.Err() == nil; at-- {
		if s.holds(ctx, topic, at) {
			return at
		}
	}
	return 0
}

// tell refuses a loss, or logs it if it is accepted.
func (s *Server) tell(what string) error {
	if !s.cfg.AcceptLoss {
		return s.lost(what)
	}
	s.log.Error("the bus lost messages, and the loss was accepted", "what", what)
	return nil
}

// checkPositions looks for groups that had read further than their topic goes.
// If that is accepted, they go on with what comes next.
func (s *Server) checkPositions(ctx context.Context) error {
	positions, err := s.positions(ctx)
	if err != nil {
		return err
	}
	for of, at := range positions {
		end := s.opened[of.topic]
		if at <= end {
			continue
		}
		if err := s.tell(behind(of.topic, end, "group "+of.group, at)); err != nil {
			return err
		}
		if err := s.savePosition(ctx, of, end); err != nil {
			return err
		}
	}
	return nil
}

func behind(topic events.Topic, end uint64, who string, at uint64) string {
	return fmt.Sprintf("topic %s ends at %d, and %s had read up to %d", topic, end, who, at)
}

// missing says what a topic lacks, "" if nothing.
func (c Config) missing(topic events.Topic, known, now state) string {
	switch {
	case now.Last < known.Last:
		return fmt.Sprintf("topic %s ends at %d and had reached %d", topic, now.Last, known.Last)
	case compacted(topic) && now.Keys < known.Keys:
		return fmt.Sprintf("topic %s holds %d keys and held %d", topic, now.Keys, known.Keys)
	case compacted(topic):
		return ""
	case now.holes() > known.holes():
		return fmt.Sprintf("topic %s holds %d of the messages %d to %d", topic, now.Msgs, now.First, now.Last)
	case now.First > known.First && !c.retired(known, now):
		return fmt.Sprintf("topic %s begins at %d and began at %d", topic, now.First, known.First)
	}
	return ""
}

// retired reports whether the topic's limits explain that its first messages
// are gone.
func (c Config) retired(known, now state) bool {
	return known.Msgs == 0 || time.Since(known.Oldest) > c.MaxAge || now.Bytes+2*MaxPayload > uint64(c.MaxBytes)
}

// checkEnd looks at a reader's own position. One behind the end of the topic
// is of messages that were there and are not any more; if that is accepted,
// the reader goes on with what came since the bus was opened.
func (s *Server) checkEnd(ctx context.Context, topic events.Topic, at uint64) (uint64, error) {
	now, err := s.state(ctx, s.cfg.streamName(topic))
	if err != nil || at <= now.Last {
		return at, err
	}
	return s.opened[topic], s.tell(behind(topic, now.Last, "a reader", at))
}

// Verify reads every record of every topic and fails if one that should be
// there is not readable. It runs beside everything else and takes as long as
// reading the whole store does.
func (s *Server) Verify(ctx context.Context) error {
	var errs []error
	for _, topic := range s.topics() {
		if topic == positionsTopic {
			continue
		}
		if err := s.verify(ctx, topic); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *Server) verify(ctx context.Context, topic events.Topic) error {
	before, err := s.state(ctx, s.cfg.streamName(topic))
	if err != nil {
		return err
	}
	keys := map[string]struct{}{}
	var holes uint64
	for p := range s.cfg.Partitions {
		r := &reader{server: s, topic: topic, partition: p, headersOnly: true}
		h, err := r.inspect(ctx, keys)
		r.close()
		if err != nil {
			return err
		}
		holes += h
	}
	switch {
	case topic.Compacted() && uint64(len(keys)) < before.Keys:
		return s.lost(fmt.Sprintf("of topic %s the records of %d keys can not be read", topic, before.Keys-uint64(len(keys))))
	case !topic.Compacted() && s.cfg.Partitions == 1 && holes > 0:
		return s.lost(fmt.Sprintf("of topic %s %d records can not be read", topic, holes))
	}
	return nil
}

// inspect reads to the partition's end, wherever that is by then: so it meets
// every key that was there when it began, even those that are written
// meanwhile. It returns how many offsets it did not meet behind the first.
func (r *reader) inspect(ctx context.Context, keys map[string]struct{}) (holes uint64, err error) {
	for {
		ends, err := r.server.End(ctx, r.topic)
		if err != nil || r.read >= ends[r.partition] {
			return holes, err
		}
		for r.read < ends[r.partition] {
			before := r.read
			m, err := r.awaited(ctx, ends[r.partition])
			if errors.Is(err, errLate) {
				return holes + ends[r.partition] - before, nil
			}
			if err != nil {
				return holes, err
			}
			keys[m.Key] = struct{}{}
			if before > 0 {
				holes += m.Offset - before - 1
			}
		}
	}
}

// awaited returns the next message, or errLate if the server has passed all
// that it can read. A last message that it can not read counts as pending for
// ever.
func (r *reader) awaited(ctx context.Context, end uint64) (stream.Message, error) {
	for {
		m, err := r.next(ctx, time.After(time.Second))
		if !errors.Is(err, errLate) || r.consumer == nil {
			return m, err
		}
		info, err := r.consumer.Info(ctx)
		if err != nil {
			return m, err
		}
		if info.NumPending == 0 || !r.server.holds(ctx, r.topic, end) {
			return m, errLate
		}
	}
}

// holds reports whether the server can read the message at an offset, or can
// not be asked for it now.
func (s *Server) holds(ctx context.Context, topic events.Topic, offset uint64) bool {
	st, err := s.js.Stream(ctx, s.cfg.streamName(topic))
	if err != nil {
		return true
	}
	_, err = st.GetMsg(ctx, offset)
	var refused *jetstream.APIError
	return !errors.Is(err, jetstream.ErrMsgNotFound) && !errors.As(err, &refused)
}

// testify keeps the witness up to date until the bus closes.
func (s *Server) testify() {
	tick := time.NewTicker(witnessEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), witnessEvery)
			err := s.writeWitness(ctx)
			cancel()
			if err != nil {
				s.log.Warn("what the bus holds could not be noted", "error", err)
			}
		}
	}
}

// readWitness returns an empty witness for a new bus.
func (s *Server) readWitness() (witness, error) {
	raw, err := os.ReadFile(filepath.Join(s.cfg.Dir, witnessFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	var known witness
	if err := json.Unmarshal(raw, &known); err != nil {
		s.log.Error("the bus can not tell whether it lost messages: its witness is damaged", "file", witnessFile, "error", err)
		return nil, nil
	}
	return known, nil
}

// writeWitness notes what the streams hold.
func (s *Server) writeWitness(ctx context.Context) error {
	s.witnessing.Lock()
	defer s.witnessing.Unlock()
	return s.witness(ctx, "")
}

// witness replaces the file in one step, and leaves one topic out of it. The
// caller holds witnessing.
func (s *Server) witness(ctx context.Context, except events.Topic) error {
	now := witness{}
	for _, topic := range s.topics() {
		if topic == except {
			continue
		}
		st, err := s.state(ctx, s.cfg.streamName(topic))
		if err != nil {
			return err
		}
		now[string(topic)] = st
	}
	raw, err := json.MarshalIndent(now, "", "\t")
	if err != nil {
		return fmt.Errorf("jetstream: write %s: %w", witnessFile, err)
	}
	path := filepath.Join(s.cfg.Dir, witnessFile)
	if err := writeSynced(path+".new", raw); err != nil {
		return fmt.Errorf("jetstream: write %s: %w", witnessFile, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("jetstream: write %s: %w", witnessFile, err)
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
