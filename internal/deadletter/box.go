// Package deadletter is the box of records that no stage could process: what
// lies in it, why, and what an operator decided about it.
package deadletter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// name of the box as a consumer: in metrics, and of its own letters.
const name = "deadletter"

// DefaultKeep is how many letters a box remembers.
const DefaultKeep = 200_000

// Config says how much a box remembers. Zero values take the defaults.
type Config struct {
	Keep int // letters in memory; beyond, closed ones are forgotten first, and old ones
}

// Bus is what a box needs of the bus.
type Bus interface {
	stream.Follower
	stream.Publisher
	stream.Republisher
}

// Deps is what a box works with.
type Deps struct {
	Bus        Bus
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Box follows the dead letters. It holds what describes them in memory; the
// original bytes stay on the bus until somebody asks. Its methods may be
// called concurrently, and see only the letters of the context's tenant.
type Box struct {
	bus  Bus
	log  *slog.Logger
	tail *stream.Tail[Letter]
	turn chan struct{} // holds whoever decides: what one replays the next must not find superseded, nor forgotten by another reading
	shelf
}

// New checks its arguments and registers metrics. It starts nothing.
func New(cfg Config, d Deps) (*Box, error) {
	if d.Bus == nil || d.Logger == nil || d.Registerer == nil {
		return nil, errors.New("deadletter: bus, logger and registerer are needed")
	}
	if cfg.Keep <= 0 {
		cfg.Keep = DefaultKeep
	}
	b := &Box{bus: d.Bus, log: d.Logger, turn: make(chan struct{}, 1), shelf: newShelf(cfg.Keep)}
	sink := stream.Sink[Letter]{Name: name, Topic: events.DLQ, Decode: decode, Apply: b.apply}
	tail, err := stream.NewTail(sink, stream.Deps{Follower: d.Bus, Publisher: d.Bus, Logger: d.Logger, Registerer: d.Registerer})
	if err != nil {
		return nil, fmt.Errorf("deadletter: %w", err)
	}
	b.tail = tail
	if err := b.measure(d.Registerer, time.Now); err != nil {
		return nil, fmt.Errorf("deadletter: register metrics: %w", err)
	}
	return b, nil
}

// Run reads the letters, from the first one, until ctx ends: anew whenever there is room
// again for some that were forgotten.
func (b *Box) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := b.read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// take waits until it is the caller's turn, until leave. It reports false if ctx ends before.
func (b *Box) take(ctx context.Context) bool {
	select {
	case b.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *Box) leave() { <-b.turn }

func (b *Box) read(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if !b.take(ctx) {
		return nil
	}
	b.again()
	b.leave()
	go func() {
		select {
		case <-b.room:
			stop()
		case <-ctx.Done():
		}
	}()
	return b.tail.Run(ctx, nil)
}

func (b *Box) apply(_ context.Context, records []stream.Record[Letter], positions map[int]uint64) error {
	for _, r := range records {
		if _, decided := events.ParseLetterKey(r.Message.Key); decided {
			b.decided(r.Decoded.ID, r.Decoded.State)
			continue
		}
		b.put(r.Decoded)
	}
	b.reached(positions)
	return nil
}

// decode never fails: what is no letter is shown as one, because a box that
// buried its own unreadable letters would dig for ever.
func decode(m stream.Message) (Letter, error) {
	l, err := events.DecodeDeadLetter(m.Value)
	if err != nil {
		l = events.DeadLetter{Stage: name, Topic: events.DLQ, Reason: stream.ReasonUndecodable, Detail: err.Error(), Failed: m.Time}
	}
	l.ID, _ = events.ParseLetterKey(m.Key)
	return newLetter(l, m.Partition, m.Offset), nil
}

// Dead reports whether a change of this key, of this revision or one that
// replaced it, was given up. A replayed one has another chance.
func (b *Box) Dead(key string, revision uint64) bool { return b.dead(key, revision) }

// Of returns the letters of a record's key, of any tenant, in no order.
func (b *Box) Of(key string) []Letter { return b.of(key) }
