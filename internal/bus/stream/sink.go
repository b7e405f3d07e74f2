package stream

import (
	"context"
	"maps"

	"github.com/toolstream/toolstream/pkg/events"
)

// Record is a message with its decoded content.
type Record[T any] struct {
	Message Message
	Decoded T
}

// Sink reads a whole topic and stores its position in the same transaction as the records, so
// that neither can be ahead of the other.
type Sink[T any] struct {
	Name  string // in metrics, logs and dead letters
	Topic events.Topic

	// Decode reads a message. A message that it cannot read becomes a dead
	// letter, whatever the error.
	Decode func(Message) (T, error)

	// Apply stores the records, which may have been applied before, and the
	// positions (offset by partition, of the partitions that moved). Either
	// may be empty. A transient error is tried again for as long as it takes;
	// after a permanent one the records are applied one by one, the culprits
	// become dead letters, and the positions follow in a call of their own.
	Apply func(ctx context.Context, records []Record[T], positions map[int]uint64) error

	// Traced continues the traces of the records. Sinks that only count records leave it false.
	Traced bool
}

// Tail is a sink at work.
type Tail[T any] struct {
	worker
	sink     Sink[T]
	follower Follower

	positions  map[int]uint64 // applied so far
	progressed bool           // since following began last
}

// NewTail returns a tail and registers its metrics. It starts nothing.
func NewTail[T any](s Sink[T], d Deps) *Tail[T] {
	if !s.Traced {
		d.Traces = nil
	}
	return &Tail[T]{worker: newWorker(s.Name, s.Topic, d.Follower, d), sink: s, follower: d.Follower}
}

// Run follows the topic above the positions in from until ctx ends, then
// returns nil; an Apply that has begun is finished first, within DrainTime.
// Only an error of the bus that cannot mend by itself ends it early. It may be
// called again once it has returned.
func (s *Tail[T]) Run(ctx context.Context, from map[int]uint64) error {
	s.positions = make(map[int]uint64, len(from))
	maps.Copy(s.positions, from)
	for ctx.Err() == nil {
		// If following fails, it restarts at its position, without delay if it made progress since
		// the last failure.
		err := s.retry(ctx, func() error {
			s.progressed = false
			err := s.bus("follow", s.follower.Follow(ctx, s.topic, maps.Clone(s.positions), s.batch))
			if _, permanent := AsPermanent(err); s.progressed && !permanent {
				return nil
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// batch applies the messages. It only fails if ctx ends.
func (s *Tail[T]) batch(ctx context.Context, msgs []Message) error {
	positions := map[int]uint64{}
	for _, m := range msgs {
		positions[m.Partition] = m.Offset
	}
	err := s.process(ctx, msgs, func() func(context.Context) error {
		records, unreadable := s.decode(msgs)
		return func(work context.Context) error {
			if err := s.giveUp(work, unreadable); err != nil {
				return err
			}
			unreadable = nil
			return s.apply(work, records, positions)
		}
	})
	if err != nil {
		return err
	}
	maps.Copy(s.positions, positions)
	s.progressed = true
	s.metrics.messages.Add(float64(len(msgs)))
	return nil
}

func (s *Tail[T]) decode(msgs []Message) ([]Record[T], []events.DeadLetter) {
	records := make([]Record[T], 0, len(msgs))
	var letters []events.DeadLetter
	for _, m := range msgs {
		if m.Erased {
			continue
		}
		var decoded T
		var err error
		if p := caught(func() { decoded, err = s.sink.Decode(m) }); p != nil {
			err = Permanent(ReasonPanic, p)
		}
		if err != nil {
			letters = append(letters, s.deadLetter(m, err, 1))
			continue
		}
		records = append(records, Record[T]{m, decoded})
	}
	return records, letters
}

// apply stores the batch, or as much of it as can be stored at all.
func (s *Tail[T]) apply(ctx context.Context, records []Record[T], positions map[int]uint64) error {
	err := s.try(ctx, records, positions)
	if _, permanent := AsPermanent(err); !permanent {
		return err
	}
	var letters []events.DeadLetter
	for _, r := range records {
		err := s.try(ctx, []Record[T]{r}, nil)
		if _, permanent := AsPermanent(err); permanent {
			letters = append(letters, s.deadLetter(r.Message, err, 2))
		} else if err != nil {
			return err
		}
	}
	if err := s.giveUp(ctx, letters); err != nil {
		return err
	}
	return s.try(ctx, nil, positions)
}

// try calls Apply; a panic is as permanent as the code that panics.
func (s *Tail[T]) try(ctx context.Context, records []Record[T], positions map[int]uint64) (err error) {
	if p := caught(func() { err = s.sink.Apply(ctx, records, positions) }); p != nil {
		s.metrics.errors.WithLabelValues(classPanic).Inc()
		return Permanent(ReasonPanic, p)
	}
	if _, permanent := AsPermanent(err); err != nil && !permanent {
		s.metrics.errors.WithLabelValues(classTransient).Inc()
	}
	return err
}
