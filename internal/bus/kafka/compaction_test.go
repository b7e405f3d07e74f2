package kafka

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// The cleaner of a real broker makes gaps: within batches, at their ends, and
// whole batches, also those of nulls. Readers pass them, wherever they begin.
func TestReadersPassWhatWasCompacted(t *testing.T) {
	cfg := fresh(t, 1)
	create(t, cfg)
	b := open(t, cfg)
	defer closeBus(t, b)
	const topic = events.ToolsEmbedded
	setConfigs(t, b, "", map[string]string{"log.cleaner.backoff.ms": "200"})
	setConfigs(t, b, topic, map[string]string{
		"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", deleteRetention: "0", minCompactionLag: "0",
	})
	const keys, rounds = 40, 5
	for round := range rounds {
		var msgs []stream.Message
		for k := range keys {
			msgs = append(msgs, stream.Message{Topic: topic, Key: fmt.Sprint(k), Value: fmt.Append(nil, round)})
		}
		check.OK(t, b.Publish(within(t), msgs...))
	}
	for k := range keys / 2 {
		check.OK(t, b.Publish(within(t), stream.Message{
			Topic: topic, Key: fmt.Sprint(k), Headers: map[string]string{events.HeaderRevision: "9"},
		}))
	}
	whole := keys*rounds + keys/2 // offsets that were given

	// A new segment begins with the next record; those before it are cleaned.
	left := map[uint64]string{}
	for n := 0; len(left) == 0 || len(left) > keys/2+n; n++ {
		check.OK(t, b.Publish(within(t), stream.Message{Topic: topic, Key: fmt.Sprint("roll ", n), Value: []byte("x")}))
		left = offsetsOf(t, b, topic, 0)
	}
	newest := map[string]uint64{}
	for offset, key := range left {
		newest[key] = max(newest[key], offset)
	}
	for k := keys / 2; k < keys; k++ {
		if newest[fmt.Sprint(k)] == 0 {
			t.Errorf("key %d is gone, though it was not ended", k)
		}
	}
	for from := uint64(0); from <= uint64(whole); from += 7 {
		got := offsetsOf(t, b, topic, from)
		for offset := range left {
			if (offset > from) != (got[offset] != "") {
				t.Errorf("from %d: offset %d delivered: %v", from, offset, got[offset] != "")
			}
		}
	}
}

// offsetsOf follows a topic of one partition to its end.
func offsetsOf(t *testing.T, b *Bus, topic events.Topic, from uint64) map[uint64]string {
	t.Helper()
	ends, err := b.End(within(t), topic)
	check.OK(t, err)
	got := map[uint64]string{}
	err = b.Follow(within(t), topic, map[int]uint64{0: from}, func(_ context.Context, msgs []stream.Message) error {
		for _, m := range msgs {
			got[m.Offset] = m.Key
		}
		if msgs[len(msgs)-1].Offset >= ends[0] {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	return got
}
