package jetstream

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/pkg/events"
)

// positionsTopic names the stream of committed offsets. It is no topic of the
// pipeline: nobody consumes it.
const positionsTopic events.Topic = "positions"

func (c Config) positionsConfig() jetstream.StreamConfig {
	cfg := c.streamConfig(positionsTopic)
	cfg.Subjects = []string{c.Prefix + string(positionsTopic) + ".>"}
	cfg.MaxMsgsPerSubject, cfg.MaxAge, cfg.MaxBytes = 1, 0, 0
	return cfg
}

func (c Config) positionSubject(of claim) string {
	group := keyMark + base64.RawURLEncoding.EncodeToString([]byte(of.group))
	return c.Prefix + string(positionsTopic) + "." + group + "." + string(of.topic) + "." + strconv.Itoa(of.partition)
}

// savePosition makes an offset durable.
func (s *Server) savePosition(ctx context.Context, of claim, offset uint64) error {
	bounded, cancel := ackPatience(ctx)
	defer cancel()
	err := context.DeadlineExceeded // of the client, which has one of its own
	for errors.Is(err, context.DeadlineExceeded) && bounded.Err() == nil {
		_, err = s.js.Publish(bounded, s.cfg.positionSubject(of), []byte(strconv.FormatUint(offset, 10)))
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = s.breakDown(err)
	}
	if err != nil {
		return fmt.Errorf("jetstream: commit %s at %d: %w", of.topic, offset, full(err))
	}
	return nil
}

// position returns the offset that a group has committed, 0 if none.
func (s *Server) position(ctx context.Context, of claim) (uint64, error) {
	st, err := s.js.Stream(ctx, s.cfg.streamName(positionsTopic))
	if err != nil {
		return 0, fmt.Errorf("jetstream: positions: %w", err)
	}
	m, err := st.GetLastMsgForSubject(ctx, s.cfg.positionSubject(of))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("jetstream: position of %s in %s: %w", of.group, of.topic, err)
	}
	offset, err := strconv.ParseUint(string(m.Data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("jetstream: position of %s in %s: %w", of.group, of.topic, err)
	}
	return offset, nil
}

// Committed returns the offset that a group has committed of each partition of
// a topic, 0 where it has not yet.
func (s *Server) Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error) {
	out := make(map[int]uint64, s.cfg.Partitions)
	for partition := range s.cfg.Partitions {
		offset, err := s.position(ctx, claim{group, topic, partition})
		if err != nil {
			return nil, err
		}
		out[partition] = offset
	}
	return out, nil
}

// positions returns all committed offsets.
func (s *Server) positions(ctx context.Context) (map[claim]uint64, error) {
	st, err := s.js.Stream(ctx, s.cfg.streamName(positionsTopic))
	if err != nil {
		return nil, fmt.Errorf("jetstream: positions: %w", err)
	}
	info, err := st.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, fmt.Errorf("jetstream: positions: %w", err)
	}
	out := map[claim]uint64{}
	for subject := range info.State.Subjects {
		of, err := s.cfg.parsePosition(subject)
		if err != nil {
			return nil, fmt.Errorf("jetstream: %q is no position: %w", subject, err)
		}
		if out[of], err = s.position(ctx, of); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parsePosition is the inverse of positionSubject.
func (c Config) parsePosition(subject string) (claim, error) {
	fields := strings.Split(strings.TrimPrefix(subject, c.Prefix+string(positionsTopic)+"."), ".")
	last := len(fields) - 1
	if last < 2 {
		return claim{}, errors.New("it has too few parts")
	}
	group, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(fields[0], keyMark))
	if err != nil {
		return claim{}, err
	}
	partition, err := strconv.Atoi(fields[last])
	return claim{string(group), events.Topic(strings.Join(fields[1:last], ".")), partition}, err
}

// lastOf returns the offset of the last message on a subject, 0 if none.
func (s *Server) lastOf(ctx context.Context, st jetstream.Stream, subject string) (uint64, error) {
	m, err := st.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}
