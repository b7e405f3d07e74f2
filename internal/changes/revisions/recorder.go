// Package revisions keeps the last changes of each tool and provider as they were accepted:
// tools.raw holds the newest one alone.
package revisions

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Kept is how many changes of an entity are kept.
const Kept = 20

// Bytes is how much all of them may take; above that, the oldest go.
const Bytes = 1 << 30

// maxRecord is how large a change may be to be kept, in bytes.
const maxRecord = 256 << 10

// Each batch costs a flush to a disk that acceptance may write to as well. So a batch that is
// not full begins a pause after the one before, and any leaves the disk alone for rests times
// as long as the one before took.
const (
	pause   = time.Second
	rests   = 4
	maxRest = 5 * time.Second
)

// batchSize is how many records are kept with one flush.
const batchSize = 1000

// Name is the recorder's name: of its consumer group, in metrics and logs.
const Name = "revisions"

// Prefix begins the keys of a tenant.
func Prefix(tenant string) string { return tenant + "." }

// keyOf returns the key of an entity's changes. It hashes the id, which may contain characters
// that are invalid in keys.
func keyOf(ref schema.Ref) string {
	sum := sha256.Sum256([]byte(events.Key(ref)))
	return Prefix(ref.Tenant) + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Log keeps the last values of a key.
type Log interface {
	// Append adds values after the existing ones. Only Key and Value of an entry count.
	Append(ctx context.Context, entries []stream.Entry) error
	// Values returns the values of a key, the oldest first.
	Values(ctx context.Context, key string) ([][]byte, error)
	// Forget removes a key.
	Forget(ctx context.Context, key string) error
	// MaxValue is how large a value may be in bytes.
	MaxValue() int
}

// Recorder is the stage that keeps the changes of tools.raw. It may keep a change twice, which
// History shows once.
type Recorder struct {
	log  Log
	room func(bytes int) error
	loop *stream.Loop

	ending <-chan struct{} // closed once Run should return
	keptAt atomic.Int64    // when a batch was last kept, in ns
	took   atomic.Int64    // how long that took, in ns
}

// NewRecorder returns a recorder, which asks room first whether so many bytes may be stored.
func NewRecorder(log Log, room func(bytes int) error, d stream.Deps) *Recorder {
	r := &Recorder{log: log, room: room}
	r.loop = stream.New(stream.Stage{Name: Name, Topic: events.ToolsRaw, Handler: r.handle, Batch: batchSize}, d)
	return r
}

// Run works until ctx ends and the batch under way is done.
func (r *Recorder) Run(ctx context.Context) error {
	r.ending = ctx.Done()
	return r.loop.Run(ctx)
}

// handle keeps a batch. Its errors are transient: a change that cannot be kept is
// skipped, because the document is not at fault.
func (r *Recorder) handle(ctx context.Context, msgs []stream.Message) []stream.Outcome {
	r.rest(len(msgs) == batchSize)
	begun := time.Now()
	err := r.keep(ctx, msgs)
	r.took.Store(int64(time.Since(begun)))
	r.keptAt.Store(time.Now().UnixNano())
	return slices.Repeat([]stream.Outcome{{Err: err}}, len(msgs))
}

// rest waits until a batch may be kept. More come meanwhile.
func (r *Recorder) rest(full bool) {
	rest := min(rests*time.Duration(r.took.Load()), maxRest)
	if !full {
		rest = max(rest, pause)
	}
	since := time.Since(time.Unix(0, r.keptAt.Load()))
	if since >= rest {
		return
	}
	timer := time.NewTimer(rest - max(since, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ending:
	}
}

func (r *Recorder) keep(ctx context.Context, msgs []stream.Message) error {
	var batch []stream.Entry
	for _, m := range msgs {
		ref, err := events.ParseKey(m.Key)
		if err != nil {
			continue // the standardizer gives it up
		}
		if m.IsNull() { // long after the delete
			if err := r.append(ctx, batch); err != nil {
				return err
			}
			batch = nil
			if err := r.log.Forget(ctx, keyOf(ref)); err != nil {
				return err
			}
			continue
		}
		if kept, err := r.kept(ctx, ref, m); err != nil {
			return err
		} else if !kept {
			batch = append(batch, stream.Entry{Key: keyOf(ref), Value: m.Value})
		}
	}
	return r.append(ctx, batch)
}

// kept reports whether a change must not be stored, or already is. A record is written again for
// each document that the language model makes; only such records are looked up.
func (r *Recorder) kept(ctx context.Context, ref schema.Ref, m stream.Message) (bool, error) {
	if len(m.Value) == 0 || len(m.Value) > maxRecord {
		return true, nil
	}
	if m.Headers[events.HeaderRefresh] == "" {
		return false, nil
	}
	revision, err := strconv.ParseUint(m.Headers[events.HeaderRevision], 10, 64)
	if err != nil {
		return true, nil
	}
	changes, err := read(ctx, r.log, ref)
	return slices.ContainsFunc(changes, func(c events.Change) bool { return c.Revision == revision }), err
}

func (r *Recorder) append(ctx context.Context, batch []stream.Entry) error {
	size := 0
	if most := r.log.MaxValue(); most > 0 {
		batch = slices.DeleteFunc(batch, func(e stream.Entry) bool { return len(e.Value) > most })
	}
	for _, e := range batch {
		size += len(e.Value)
	}
	if len(batch) == 0 {
		return nil
	}
	if err := r.room(size); err != nil {
		return err
	}
	return r.log.Append(ctx, batch)
}

// read returns the kept changes of an entity, in the order of arrival.
func read(ctx context.Context, log Log, ref schema.Ref) ([]events.Change, error) {
	values, err := log.Values(ctx, keyOf(ref))
	if err != nil {
		return nil, fmt.Errorf("revisions: %w", err)
	}
	var out []events.Change
	for _, raw := range values {
		if c, err := events.Decode[events.Change](raw); err == nil && c.Ref == ref {
			out = append(out, c)
		}
	}
	return out, nil
}
