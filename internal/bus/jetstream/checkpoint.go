package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/pkg/events"
)

// checkpointFile is the checkpoint, in the data folder.
const checkpointFile = "checkpoint.json"

// checkpointEvery is how old the checkpoint may be after a crash.
const checkpointEvery = 5 * time.Second

// extent is the part of a topic that its stream holds.
type extent struct {
	Last uint64 `json:"last"` // offset
	Keys uint64 `json:"keys"` // of a compacted topic, 0 for any other
}

// lossCheck finds out whether the bus lost messages. The server opens whatever it can read of
// damaged files and logs little or nothing about the rest: a truncated block ends the stream
// earlier, a missing block leaves a hole. So the bus keeps a checkpoint of its topics.
type lossCheck struct {
	dir        string
	acceptLoss bool
	log        *slog.Logger
	js         jetstream.JetStream
	topics     func() []events.Topic
	positions  positions
	erased     *erasures

	opened map[events.Topic]uint64  // the last offset of each topic when the bus was opened
	torn   map[events.Topic]tornEnd // topics whose last record cannot be read

	saving sync.Mutex // guards saved
	saved  map[events.Topic]extent
}

// extent returns the extent of a topic, and forgets the erasures that retention has overtaken.
func (l *lossCheck) extent(ctx context.Context, topic events.Topic) (extent, error) {
	st, err := l.js.Stream(ctx, streamName(topic))
	if err != nil {
		return extent{}, fmt.Errorf("jetstream: state of %s: %w", topic, err)
	}
	state := st.CachedInfo().State
	l.erased.forget(topic, state.FirstSeq)
	e := extent{Last: state.LastSeq}
	if topic.Compacted() {
		e.Keys = state.NumSubjects
	}
	return e, nil
}

// accept returns an error that describes the loss. If the operator accepts losses, it logs
// the loss and returns nil.
func (l *lossCheck) accept(what string) error {
	if l.acceptLoss {
		l.log.Error("the bus lost messages, and the loss was accepted", "what", what)
		return nil
	}
	return l.lossError(what)
}

func (l *lossCheck) lossError(what string) error {
	return stream.Permanent(stream.ReasonLost, fmt.Errorf(
		"the bus in %s lost messages: %s; restore the folder from a backup, or accept the loss (bus.accept_loss) and import again",
		l.dir, what))
}

func behind(topic events.Topic, end uint64, reader string, at uint64) string {
	return fmt.Sprintf("topic %s ends at %d, and %s had read up to %d", topic, end, reader, at)
}

// checkAll compares the topics with the checkpoint and with the positions of their readers.
func (l *lossCheck) checkAll(ctx context.Context) error {
	before, err := l.load()
	if err != nil {
		return err
	}
	for _, topic := range l.topics() {
		now, err := l.extent(ctx, topic)
		if err != nil {
			return err
		}
		l.opened[topic] = now.Last
		was := before[topic]
		delete(before, topic)
		switch {
		case now.Last < was.Last:
			err = l.accept(fmt.Sprintf("topic %s ends at %d and had reached %d", topic, now.Last, was.Last))
		case now.Keys < was.Keys:
			err = l.accept(fmt.Sprintf("topic %s holds %d keys and held %d", topic, now.Keys, was.Keys))
		default:
			err = l.checkLast(ctx, topic, now.Last)
		}
		if err != nil {
			return err
		}
	}
	for topic := range before {
		if err := l.accept(fmt.Sprintf("topic %s is gone", topic)); err != nil {
			return err
		}
	}
	return l.checkPositions(ctx)
}

// load returns an empty checkpoint for a new bus.
func (l *lossCheck) load() (map[events.Topic]extent, error) {
	raw, err := os.ReadFile(filepath.Join(l.dir, checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	saved := map[events.Topic]extent{}
	if err := json.Unmarshal(raw, &saved); err != nil {
		l.log.Error("the bus cannot tell whether it lost messages: its checkpoint is damaged", "file", checkpointFile, "error", err)
		return nil, nil
	}
	return saved, nil
}

// tornEnd is an unreadable last record, and the last record before it that can be read.
type tornEnd struct{ last, readable uint64 }

// checkLast checks the last record of a compacted topic: a reader that waits until it has
// read everything would wait forever for an unreadable one. If that loss is accepted, the
// topic ends before it.
func (l *lossCheck) checkLast(ctx context.Context, topic events.Topic, last uint64) error {
	if !topic.Compacted() || last == 0 || l.readable(ctx, topic, last) {
		return nil
	}
	if err := l.accept(fmt.Sprintf("of topic %s the last record, %d, cannot be read", topic, last)); err != nil {
		return err
	}
	at := last
	for at > 0 && ctx.Err() == nil && !l.readable(ctx, topic, at) {
		at--
	}
	l.torn[topic] = tornEnd{last, at}
	return nil
}

// readable reports whether the server can read the message at an offset, or is unable to
// answer now.
func (l *lossCheck) readable(ctx context.Context, topic events.Topic, offset uint64) bool {
	st, err := l.js.Stream(ctx, streamName(topic))
	return err != nil || holds(ctx, st, offset)
}

// checkPositions looks for groups that had read past the end of their topic. If that loss is
// accepted, they go on with the next record.
func (l *lossCheck) checkPositions(ctx context.Context) error {
	keys, err := l.positions.kv.Keys(ctx)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("jetstream: positions: %w", err)
	}
	for _, key := range keys {
		c := parseConsumer(key)
		at, err := l.positions.get(ctx, c)
		if err != nil {
			return err
		}
		end := l.opened[c.topic]
		if at <= end {
			continue
		}
		if err := l.accept(behind(c.topic, end, "group "+c.group, at)); err != nil {
			return err
		}
		if err := l.positions.save(ctx, c, end); err != nil {
			return err
		}
	}
	return nil
}

// saveRegularly keeps the checkpoint up to date until quit is closed.
func (l *lossCheck) saveRegularly(quit <-chan struct{}) {
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			if !l.saving.TryLock() {
				continue // while something is removed
			}
			ctx, cancel := context.WithTimeout(context.Background(), checkpointEvery)
			err := l.saveLocked(ctx, "")
			cancel()
			l.saving.Unlock()
			if err != nil {
				l.log.Warn("the checkpoint of the bus was not written", "error", err)
			}
		}
	}
}

func (l *lossCheck) save(ctx context.Context) error {
	l.saving.Lock()
	defer l.saving.Unlock()
	return l.saveLocked(ctx, "")
}

// saveLocked writes the extents of all topics except one, unless the file has them already.
func (l *lossCheck) saveLocked(ctx context.Context, except events.Topic) error {
	now := map[events.Topic]extent{}
	for _, topic := range l.topics() {
		if topic == except {
			continue
		}
		e, err := l.extent(ctx, topic)
		if err != nil {
			return err
		}
		now[topic] = e
	}
	if maps.Equal(now, l.saved) {
		return nil
	}
	raw, err := json.MarshalIndent(now, "", "\t")
	if err == nil {
		err = files.Write(filepath.Join(l.dir, checkpointFile), raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("jetstream: write %s: %w", checkpointFile, err)
	}
	l.saved = now
	return nil
}
