package kafka

import (
	"bytes"
	"context"
	"maps"

	"github.com/toolstream/toolstream/internal/stream"
)

// Republish implements stream.Republisher. Kafka can not compare as it stores,
// so on a compacted topic this looks before and after: if a newer record of the
// key came in between, that one is put to the end again, behind m.
func (b *Bus) Republish(ctx context.Context, m stream.Message) (bool, error) {
	if !m.Topic.Compacted() {
		return true, b.Publish(ctx, m)
	}
	n, err := b.count(ctx, opMeta, m.Topic)
	if err != nil {
		return false, err
	}
	home := b.reader(m.Topic, homesOf(n).of(m.Key), 0)
	if home.place.partition == m.Partition {
		home.next = nextAfter(m.Offset)
	} else if newer, err := b.reader(m.Topic, m.Partition, m.Offset).newest(ctx, m.Key); newer != nil || err != nil {
		return false, err
	}
	// If partitions were added, the key's records are in the old one and in the
	// new one, and those in the new one are newer.
	if newer, err := home.newest(ctx, m.Key); newer != nil || err != nil {
		return false, err
	}
	return b.republish(ctx, home, m)
}

// republish puts m behind what home has read, and again what came in between.
func (b *Bus) republish(ctx context.Context, home *reader, m stream.Message) (bool, error) {
	done := true
	for {
		if err := b.Publish(ctx, m); err != nil {
			return false, err
		}
		between, err := home.other(ctx, m)
		if err != nil || between == nil {
			return done && err == nil, err
		}
		done, m = false, *between
	}
}

// newest reads on to the partition's end and returns the last record of a key.
func (r *reader) newest(ctx context.Context, key string) (found *stream.Message, err error) {
	err = r.rest(ctx, func(m stream.Message) {
		if m.Key == key {
			found = &m
		}
	})
	return found, err
}

// other reads on to the partition's end and returns the last record of m's key
// that is not m. Nil if there is none, or if it lies behind m: then the newest
// record is at the end already.
func (r *reader) other(ctx context.Context, m stream.Message) (found *stream.Message, err error) {
	var last stream.Message
	err = r.rest(ctx, func(read stream.Message) {
		if read.Key != m.Key {
			return
		}
		last = read
		if !same(read, m) {
			found = &read
		}
	})
	if !same(last, m) {
		return nil, err
	}
	return found, err
}

func same(a, b stream.Message) bool {
	return bytes.Equal(a.Value, b.Value) && maps.Equal(a.Headers, b.Headers)
}

// rest hands over what lies between the reader and the end that the partition
// has now.
func (r *reader) rest(ctx context.Context, visit func(stream.Message)) error {
	spans, err := r.bus.offsets(ctx, r.place.topic, []int{r.place.partition})
	if err != nil {
		return err
	}
	for r.next < spans[0].end {
		before := r.next
		if err := r.bus.retry(ctx, opFetch, r.place.topic, r.poll); err != nil {
			return err
		}
		for _, m := range r.ready {
			visit(m)
		}
		r.ready = nil
		if r.next == before {
			break // nothing is left up to the end
		}
	}
	return nil
}
