package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// repairDelay is how long a Repairer waits after it was told of a key, plus up to five times as
// much by chance: of several processes, one is the first.
const repairDelay = 10 * time.Second

// Repairer publishes the newest change of an entity again if an older change follows it on a
// compacted topic. Two processes that write one entity at once cause that order, and so does a
// bus that stores a request after its writer has repeated it. Readers compare versions and are
// right in any order. But compaction keeps the last record of a key, and a rebuilt index reads
// that record.
//
// A reader that knows the newest version of each entity reports each record to Observe.
type Repairer struct {
	follower  Follower
	publisher Publisher
	topics    []events.Topic
	log       *slog.Logger
	repaired  prometheus.Counter

	mu       sync.Mutex          // guards suspects
	suspects map[string]struct{} // keys whose last record is older than their newest
	wake     chan struct{}
}

// NewRepairer returns a repairer of these topics, in the order of the flow, and
// registers its metric.
func NewRepairer(d Deps, topics ...events.Topic) *Repairer {
	return &Repairer{
		follower: d.Follower, publisher: d.Publisher, topics: topics, log: d.Logger,
		suspects: map[string]struct{}{}, wake: make(chan struct{}, 1), repaired: newRepairs(d.Registerer),
	}
}

// Observe notes that a record of key was read, and whether it is older than an earlier record
// of key.
func (r *Repairer) Observe(key string, older bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !older {
		delete(r.suspects, key)
		return
	}
	r.suspects[key] = struct{}{}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run repairs until ctx ends.
func (r *Repairer) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(repairDelay + rand.N(5*repairDelay)):
		}
		r.mu.Lock()
		keys := r.suspects
		r.suspects = map[string]struct{}{}
		r.mu.Unlock()
		for _, topic := range r.topics {
			if err := r.repair(ctx, topic, keys); err != nil && ctx.Err() == nil {
				r.log.Warn("an older change follows a newer one, and repairing failed: trying again", "topic", string(topic), "error", err)
				for key := range keys {
					r.Observe(key, true)
				}
				break
			}
		}
	}
}

// newest is the newest record of a key, and the version of the last record of
// the key in the same partition.
type newest struct {
	message       Message
	version, last schema.Version
}

// repair reads the whole topic and publishes the newest record of each key that is followed by an
// older one.
func (r *Repairer) repair(ctx context.Context, topic events.Topic, keys map[string]struct{}) error {
	if len(keys) == 0 {
		return nil
	}
	found := map[string]*newest{}
	err := ReadAll(ctx, r.follower, topic, func(m Message) {
		if _, wanted := keys[m.Key]; !wanted {
			return
		}
		if m.IsNull() {
			delete(found, m.Key) // its entity is over
			return
		}
		var v schema.Version
		if json.Unmarshal(m.Value, &v) != nil {
			return
		}
		switch f := found[m.Key]; {
		case f == nil || v.Newer(f.version):
			found[m.Key] = &newest{m, v, v}
		case f.message.Partition == m.Partition:
			f.last = v
		}
	})
	if err != nil {
		return err
	}
	for key, f := range found {
		if !f.version.Newer(f.last) {
			continue
		}
		m := f.message
		m.Headers = telemetry.WithoutTrace(m.Headers)
		if err := r.publisher.Publish(ctx, m); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		r.repaired.Inc()
		r.log.Info("published a change again: an older change followed it", "topic", string(topic), "key", key, "revision", f.version.Revision)
	}
	return nil
}
