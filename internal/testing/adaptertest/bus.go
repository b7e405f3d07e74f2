package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Bus is the interface of a bus adapter.
type Bus interface {
	stream.Publisher
	stream.Republisher
	stream.Groups
	stream.Follower
}

// BusAdapter describes an adapter to BusSuite.
type BusAdapter struct {
	// Open opens the bus stored at a place, which is empty if no bus is stored yet.
	// place is an empty folder that belongs to the test; an adapter that stores its
	// data elsewhere uses the path as a unique name. closeBus closes this bus;
	// stored data is still there for the next Open.
	Open func(t *testing.T, place string) (bus Bus, closeBus func())

	// CompactsLate says that replaced records may still be delivered.
	CompactsLate bool

	// MaxValue is a value size in bytes that the bus must accept. TooLarge is a size
	// that it must refuse permanently, 0 if it accepts any size.
	MaxValue, TooLarge int
}

// patience bounds each test of the suites, in case it hangs.
const patience = time.Minute

// BusSuite checks the contract of stream.Publisher, stream.Republisher,
// stream.Groups and stream.Follower.
func BusSuite(t *testing.T, a BusAdapter) {
	tests := []struct {
		name string
		run  func(*busTest)
	}{
		{"order per key", testOrder},
		{"concurrent publishers", testConcurrentPublish},
		{"committed is not read again", testResume},
		{"uncommitted is read again", testRepeat},
		{"groups are independent", testGroups},
		{"a partition has one member", testMembers},
		{"compaction keeps the newest", testCompaction},
		{"republish", testRepublish},
		{"follow from offsets", testFollowFrom},
		{"follow what comes", testFollowLive},
		{"end", testEnd},
		{"any bytes", testBytes},
		{"large values", testLarge},
		{"cancel", testCancel},
		{"handler errors", testHandlerError},
		{"restart", testRestart},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			bt := &busTest{T: t, adapter: a, place: t.TempDir(), ctx: ctx}
			bt.open()
			t.Cleanup(func() { bt.close() })
			tt.run(bt)
		})
	}
}

// busTest is one test with its own bus.
type busTest struct {
	*testing.T
	adapter BusAdapter
	place   string
	ctx     context.Context
	bus     Bus
	close   func()
}

func (t *busTest) open() { t.bus, t.close = t.adapter.Open(t.T, t.place) }

func (t *busTest) reopen() {
	t.close()
	t.open()
}

func (t *busTest) publish(msgs ...stream.Message) {
	t.Helper()
	if err := t.bus.Publish(t.ctx, msgs...); err != nil {
		t.Fatalf("publish: %v", err)
	}
}

// numbered returns messages of one key with values key#0 … key#(n-1).
func numbered(topic events.Topic, key string, n int) []stream.Message {
	out := make([]stream.Message, n)
	for i := range out {
		out[i] = stream.Message{Topic: topic, Key: key, Value: fmt.Appendf(nil, "%s#%d", key, i)}
	}
	return out
}

// errEnough ends a read in the tests.
var errEnough = errors.New("enough")

// consume reads n messages as a member of a group, in batches of at most
// batch, and commits each if asked to.
func (t *busTest) consume(topic events.Topic, group string, n, batch int, commit bool) []stream.Message {
	t.Helper()
	var got []stream.Message
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	reads := make(chan []stream.Message)
	done := make(chan error, 1)
	go func() {
		done <- t.bus.Consume(ctx, topic, group, func(ctx context.Context, p stream.Partition) error {
			return readAll(ctx, p, batch, commit, reads)
		})
	}()
	for len(got) < n {
		select {
		case msgs := <-reads:
			got = append(got, msgs...)
		case err := <-done:
			t.Fatalf("consume ended after %d of %d messages: %v", len(got), n, err)
		case <-t.ctx.Done():
			t.Fatalf("consume: %d of %d messages came", len(got), n)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatalf("consume: %v", err)
	}
	return got
}

// readAll sends the messages of a partition to out until ctx ends. With commit,
// it commits all sent messages, even if ctx ends right after.
func readAll(ctx context.Context, p stream.Partition, batch int, commit bool, out chan<- []stream.Message) error {
	for {
		msgs, err := p.Fetch(ctx, batch)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if len(msgs) == 0 || len(msgs) > batch {
			return fmt.Errorf("fetch of at most %d returned %d messages", batch, len(msgs))
		}
		select {
		case out <- msgs:
		case <-ctx.Done():
			return nil
		}
		if !commit {
			continue
		}
		if err := p.Commit(context.WithoutCancel(ctx), msgs[len(msgs)-1].Offset); err != nil {
			return err
		}
	}
}

// follow reads from the given positions until done says so.
func (t *busTest) follow(topic events.Topic, from map[int]uint64, done func([]stream.Message) bool) []stream.Message {
	t.Helper()
	var got []stream.Message
	if done(got) {
		return got
	}
	err := t.bus.Follow(t.ctx, topic, from, func(_ context.Context, msgs []stream.Message) error {
		got = append(got, msgs...)
		if done(got) {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("follow ended with %v after %d messages", err, len(got))
	}
	return got
}

// count is a condition for follow.
func count(n int) func([]stream.Message) bool {
	return func(got []stream.Message) bool { return len(got) >= n }
}

// byKey returns the values of each key in order of arrival, and fails if the
// offsets of a partition do not rise.
func (t *busTest) byKey(msgs []stream.Message) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	last := map[int]uint64{}
	for _, m := range msgs {
		if m.Offset <= last[m.Partition] {
			t.Fatalf("offset %d of partition %d came after %d", m.Offset, m.Partition, last[m.Partition])
		}
		last[m.Partition] = m.Offset
		out[m.Key] = append(out[m.Key], string(m.Value))
	}
	return out
}

// wantNumbered checks that the values of a key are exactly the values that
// numbered published.
func (t *busTest) wantNumbered(key string, got []string, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("key %q: %d values, want %d", key, len(got), n)
	}
	for i, v := range got {
		if want := fmt.Sprintf("%s#%d", key, i); v != want {
			t.Fatalf("key %q: value %d is %q, want %q", key, i, v, want)
		}
	}
}
