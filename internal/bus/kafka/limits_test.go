package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// noise is a value that does not shrink.
func noise(n int) []byte {
	out := make([]byte, n)
	r := rand.NewChaCha8([32]byte{7})
	r.Read(out)
	return out
}

func numbered(topic events.Topic, key string, from, n int) []stream.Message {
	out := make([]stream.Message, n)
	for i := range out {
		out[i] = stream.Message{Topic: topic, Key: key, Value: fmt.Append(nil, from+i)}
	}
	return out
}

var errEnough = errors.New("enough")

// followed reads n messages from the beginning.
func followed(t *testing.T, b *Bus, topic events.Topic, n int) []stream.Message {
	t.Helper()
	var got []stream.Message
	if n == 0 {
		return nil
	}
	err := b.Follow(within(t), topic, nil, func(_ context.Context, msgs []stream.Message) error {
		if got = append(got, msgs...); len(got) >= n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("follow ended with %v after %d of %d messages", err, len(got), n)
	}
	return got
}

func TestMessagesOverTheLimit(t *testing.T) {
	cfg := fresh(t, 1)
	create(t, cfg)
	b := open(t, cfg)
	defer closeBus(t, b)
	huge := stream.Message{Topic: events.Searches, Key: "k", Value: make([]byte, cfg.MaxMessage+DefaultMaxMessage)}
	err := b.Publish(within(t), huge)
	if stream.Reason(err) != stream.ReasonTooLarge || !strings.Contains(err.Error(), fmt.Sprint(size(huge))) || !strings.Contains(err.Error(), fmt.Sprint(DefaultMaxMessage)) {
		t.Errorf("%v: want %s with the size %d and the limit %d", err, stream.ReasonTooLarge, size(huge), DefaultMaxMessage)
	}

	// The topic allows less than the settings: the broker says so. What came in
	// the same request is stored.
	setConfigs(t, b, events.Searches, map[string]string{maxMessageBytes: "20000"})
	// It takes a while to do so, and longer if the machine is busy.
	waiting := within(t)
	probes := 0 // that were stored meanwhile
	for {
		err := b.Publish(waiting, stream.Message{Topic: events.Searches, Key: "probe", Value: noise(29000)})
		if stream.Reason(err) == stream.ReasonTooLarge {
			break
		}
		check.OK(t, err)
		probes++
	}
	var all []stream.Message
	for i := range 8 {
		all = append(all, stream.Message{Topic: events.Searches, Key: "small", Value: append(noise(5000), byte(i))})
	}
	large := stream.Message{Topic: events.Searches, Key: "large", Value: noise(30000)}
	all = append(all[:5:5], append([]stream.Message{large}, all[5:]...)...)
	var group errgroup.Group
	refused := make([]error, len(all))
	for i, m := range all {
		group.Go(func() error { refused[i] = b.Publish(within(t), m); return nil })
	}
	check.OK(t, group.Wait())
	for i, err := range refused {
		if all[i].Key == "small" {
			check.OK(t, err)
		} else if stream.Reason(err) != stream.ReasonTooLarge || !strings.Contains(err.Error(), fmt.Sprint(size(large))) || !strings.Contains(err.Error(), maxMessageBytes) {
			t.Errorf("%v: want %s with the size %d and the name of the limit", err, stream.ReasonTooLarge, size(large))
		}
	}
	err = b.Publish(within(t), all...)
	if stream.Reason(err) != stream.ReasonTooLarge {
		t.Errorf("%v: want %s", err, stream.ReasonTooLarge)
	}
	for _, m := range followed(t, b, events.Searches, probes+2*len(all)-1-4) {
		if bytes.Equal(m.Value, large.Value) {
			t.Error("a message that was refused is stored")
		}
	}
}

func TestATopicThatIsNotThere(t *testing.T) {
	cfg := fresh(t, 1)
	b := open(t, cfg)
	defer closeBus(t, b)
	ctx := within(t)
	_, endErr := b.End(ctx, events.DLQ)
	for what, err := range map[string]error{
		"publish": b.Publish(ctx, stream.Message{Topic: events.DLQ, Key: "k"}),
		"follow":  b.Follow(ctx, events.DLQ, nil, func(context.Context, []stream.Message) error { return nil }),
		"end":     endErr,
		"ready":   b.Ready(ctx),
	} {
		if _, permanent := stream.AsPermanent(err); err == nil || permanent || !strings.Contains(err.Error(), cfg.Prefix) || !strings.Contains(err.Error(), "topics apply") {
			t.Errorf("%s: %v: want a transient error that names the topic and the remedy", what, err)
		}
	}
	unheard := stream.Message{Topic: "unheard-of", Key: "k"}
	if err := b.Publish(ctx, unheard); err == nil || !strings.Contains(err.Error(), "unheard-of") {
		t.Errorf("publish to no topic of ours: %v", err)
	}
	if err := b.Consume(ctx, "unheard-of", "g", nil); err == nil || !strings.Contains(err.Error(), "unheard-of") {
		t.Errorf("consume no topic of ours: %v", err)
	}

	// A consumer waits for the topic to be made.
	got := make(chan stream.Message, 1)
	var group errgroup.Group
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error {
		return b.Consume(consuming, events.Searches, "g", func(ctx context.Context, p stream.Partition) error {
			if msgs, err := p.Fetch(ctx, 1); err == nil {
				got <- msgs[0]
			}
			return nil
		})
	})
	create(t, cfg)
	other := open(t, cfg)
	defer closeBus(t, other)
	for other.Ready(ctx) != nil { // a topic has its leader soon after it was made
		check.OK(t, ctx.Err())
	}
	check.OK(t, other.Publish(ctx, numbered(events.Searches, "k", 0, 1)...))
	if m := <-got; string(m.Value) != "0" {
		t.Errorf("read %q", m.Value)
	}
	stop()
	check.OK(t, group.Wait())
}

func TestPositionsThatTheClusterDoesNotHave(t *testing.T) {
	cfg := fresh(t, 1)
	create(t, cfg)
	b := open(t, cfg)
	defer closeBus(t, b)
	check.OK(t, b.Publish(within(t), numbered(events.Searches, "k", 0, 3)...))
	for _, from := range []map[int]uint64{{0: 4}, {0: 1, 7: 2}} {
		err := b.Follow(within(t), events.Searches, from, func(context.Context, []stream.Message) error { return nil })
		if stream.Reason(err) != stream.ReasonLost || !strings.Contains(err.Error(), cfg.Prefix+"searches") {
			t.Errorf("from %v: %v, want %s", from, err, stream.ReasonLost)
		}
	}
}

func TestPartitionsThatAreAdded(t *testing.T) {
	cfg := fresh(t, 1)
	create(t, cfg)
	b := open(t, cfg)
	defer closeBus(t, b)
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	type read struct {
		by string
		m  stream.Message
	}
	reads := make(chan read)
	var group errgroup.Group
	hand := func(ctx context.Context, by string, msgs []stream.Message) error {
		for _, m := range msgs {
			select {
			case reads <- read{by, m}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	group.Go(func() error {
		return b.Follow(ctx, events.ToolsRaw, nil, func(ctx context.Context, msgs []stream.Message) error { return hand(ctx, "follower", msgs) })
	})
	group.Go(func() error {
		return b.Consume(ctx, events.ToolsRaw, "g", func(ctx context.Context, p stream.Partition) error {
			for {
				msgs, err := p.Fetch(ctx, 10)
				if err != nil {
					return nil
				}
				if hand(ctx, "member", msgs) != nil {
					return nil
				}
				if err := p.Commit(ctx, msgs[len(msgs)-1].Offset); err != nil {
					return err
				}
			}
		})
	})
	const keys = 20
	publish := func(value string) {
		for k := range keys {
			check.OK(t, b.Publish(ctx, stream.Message{Topic: events.ToolsRaw, Key: fmt.Sprint(k), Value: []byte(value)}))
		}
	}
	collect := func(value string) map[int]bool {
		partitions := map[int]bool{}
		missing := map[string]bool{}
		for k := range keys {
			missing[fmt.Sprintf("follower %d", k)], missing[fmt.Sprintf("member %d", k)] = true, true
		}
		for len(missing) > 0 {
			r := <-reads
			if string(r.m.Value) != value {
				t.Errorf("%s read %q of %s, want %q", r.by, r.m.Value, r.m.Key, value)
			}
			delete(missing, r.by+" "+r.m.Key)
			partitions[r.m.Partition] = true
		}
		return partitions
	}
	publish("before")
	collect("before")
	old := followed(t, b, events.ToolsRaw, keys)
	addPartitions(t, b, events.ToolsRaw, 3)
	for n := 0; n != 3; {
		ends := check.Value(b.End(ctx, events.ToolsRaw))(t)
		n = len(ends)
	}
	publish("after")
	if got := collect("after"); !maps.Equal(got, map[int]bool{0: true, 1: true, 2: true}) {
		t.Errorf("after the topic grew, records came from partitions %v", got)
	}
	// Of a key that has moved, the record in its old partition is not the newest
	// any more, though it is there.
	for _, m := range old {
		if done, err := b.Republish(ctx, m); done || err != nil {
			t.Errorf("republish of what was published before: %v, %v", done, err)
		}
	}
	stop()
	check.OK(t, group.Wait())
}
