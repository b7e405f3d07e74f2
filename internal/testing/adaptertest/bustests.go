package adaptertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

func testOrder(t *busTest) {
	const keys, each = 7, 120
	var all []stream.Message
	for k := range keys {
		all = append(all, numbered(events.Searches, fmt.Sprintf("t/key-%d", k), each)...)
	}
	// Calls of many sizes, so that single and batched writes mix.
	for size := 1; len(all) > 0; size = size*2%97 + 1 {
		n := min(size, len(all))
		t.publish(all[:n]...)
		all = all[n:]
	}
	got := t.byKey(t.consume(events.Searches, "g", keys*each, 50, true))
	for k := range keys {
		key := fmt.Sprintf("t/key-%d", k)
		t.wantNumbered(key, got[key], each)
	}
}

func testConcurrentPublish(t *busTest) {
	const publishers, each = 16, 30
	var g errgroup.Group
	for p := range publishers {
		g.Go(func() error {
			for _, m := range numbered(events.Searches, fmt.Sprintf("t/%d", p), each) {
				if err := t.bus.Publish(t.ctx, m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatalf("publish: %v", err)
	}
	got := t.byKey(t.follow(events.Searches, nil, count(publishers*each)))
	for p := range publishers {
		key := fmt.Sprintf("t/%d", p)
		t.wantNumbered(key, got[key], each)
	}
}

func testResume(t *busTest) {
	t.publish(numbered(events.Searches, "t/a", 30)...)
	first := t.consume(events.Searches, "g", 10, 10, true)
	t.reopen()
	rest := t.consume(events.Searches, "g", 30-len(first), 10, true)
	t.wantNumbered("t/a", t.byKey(append(first, rest...))["t/a"], 30)
	t.reopen()
	t.publish(stream.Message{Topic: events.Searches, Key: "t/a", Value: []byte("t/a#30")})
	last := t.consume(events.Searches, "g", 1, 10, true)
	if len(last) != 1 || string(last[0].Value) != "t/a#30" {
		t.Fatalf("after everything was committed %d messages came, first %q", len(last), last[0].Value)
	}
}

func testRepeat(t *busTest) {
	t.publish(numbered(events.Searches, "t/a", 20)...)
	t.consume(events.Searches, "g", 20, 5, false)
	again := t.consume(events.Searches, "g", 20, 5, false)
	t.wantNumbered("t/a", t.byKey(again)["t/a"], 20)
	t.reopen()
	again = t.consume(events.Searches, "g", 20, 5, true)
	t.wantNumbered("t/a", t.byKey(again)["t/a"], 20)
}

func testGroups(t *busTest) {
	t.publish(numbered(events.Searches, "t/a", 20)...)
	for _, group := range []string{"one", "two", "with.dots and spaces/*>"} {
		got := t.consume(events.Searches, group, 20, 100, true)
		t.wantNumbered("t/a", t.byKey(got)["t/a"], 20)
	}
}

// testMembers runs two members of one group. It stops the member that has the
// partitions half-way, and the other continues from the last commit.
func testMembers(t *busTest) {
	const n = 40
	reads := make(chan []stream.Message)
	var members errgroup.Group
	first, stopFirst := context.WithCancel(t.ctx)
	second, stopSecond := context.WithCancel(t.ctx)
	defer stopFirst()
	defer stopSecond()
	for _, ctx := range []context.Context{first, second} {
		members.Go(func() error {
			return t.bus.Consume(ctx, events.Searches, "g", func(ctx context.Context, p stream.Partition) error {
				return readAll(ctx, p, 4, true, reads)
			})
		})
	}
	t.publish(numbered(events.Searches, "t/a", n/2)...)
	var got []stream.Message
	for len(got) < n/2 {
		got = append(got, t.receive(reads)...)
	}
	stopFirst()
	t.publish(numbered(events.Searches, "t/b", n/2)...)
	for len(got) < n {
		got = append(got, t.receive(reads)...)
	}
	stopSecond()
	if err := members.Wait(); err != nil {
		t.Fatalf("consume: %v", err)
	}
	values := t.byKey(got)
	t.wantNumbered("t/a", values["t/a"], n/2)
	t.wantNumbered("t/b", values["t/b"], n/2)
}

func (t *busTest) receive(reads <-chan []stream.Message) []stream.Message {
	t.Helper()
	select {
	case msgs := <-reads:
		return msgs
	case <-t.ctx.Done():
		t.Fatal("no messages came")
		return nil
	}
}

func testCompaction(t *busTest) {
	const keys, versions = 25, 4
	for v := range versions {
		var msgs []stream.Message
		for k := range keys {
			// Twice in one call: the second one stays.
			for _, text := range []string{"early", "late"} {
				msgs = append(msgs, stream.Message{
					Topic: events.ToolsRaw, Key: fmt.Sprintf("t/%d", k), Value: fmt.Appendf(nil, "%d %s", v, text),
				})
			}
		}
		t.publish(msgs...)
	}
	t.reopen()
	want := fmt.Sprintf("%d late", versions-1)
	complete := func(got []stream.Message) bool {
		newest := map[string]string{}
		for _, m := range got {
			newest[m.Key] = string(m.Value)
		}
		for _, v := range newest {
			if v != want {
				return false
			}
		}
		return len(newest) == keys
	}
	got := t.follow(events.ToolsRaw, nil, complete)
	if !t.adapter.CompactsLate && len(got) != keys {
		t.Errorf("a compacted topic of %d keys delivered %d messages", keys, len(got))
	}
	t.byKey(got)
}

// testRepublish: an old record never replaces a newer record of its key, and is
// appended otherwise.
func testRepublish(t *busTest) {
	for _, topic := range []events.Topic{events.ToolsRaw, events.Searches} {
		t.publish(numbered(topic, "t/old", 1)...)
		t.publish(numbered(topic, "t/newest", 1)...)
		read := map[string]stream.Message{}
		for _, m := range t.follow(topic, nil, count(2)) {
			read[m.Key] = m
		}
		t.publish(stream.Message{Topic: topic, Key: "t/old", Value: []byte("newer")})
		for _, key := range []string{"t/old", "t/newest"} {
			want := key == "t/newest" || !topic.Compacted()
			done, err := t.bus.Republish(t.ctx, read[key])
			if err != nil || done != want {
				t.Errorf("republish %s to %s: %v, %v; want %v", key, topic, done, err, want)
			}
		}
		t.reopen()
		values := t.byKey(t.follow(topic, nil, func(got []stream.Message) bool {
			later := map[string]bool{} // keys with a later record than the one read
			for _, m := range got {
				if m.Offset > read[m.Key].Offset {
					later[m.Key] = true
				}
			}
			return later["t/old"] && later["t/newest"]
		}))
		old := values["t/old"]
		if topic.Compacted() && old[len(old)-1] != "newer" {
			t.Errorf("%s: the newest of t/old is %q, want newer", topic, old)
		}
	}
}

func testFollowFrom(t *busTest) {
	t.publish(numbered(events.ToolsRaw, "t/before", 1)...)
	for k := range 30 {
		t.publish(numbered(events.ToolsRaw, fmt.Sprintf("t/%02d", k), 1)...)
	}
	all := t.follow(events.ToolsRaw, nil, count(31))
	from := map[int]uint64{}
	for _, m := range all[:12] {
		from[m.Partition] = m.Offset
	}
	above := 0
	for _, m := range all {
		if m.Offset > from[m.Partition] {
			above++
		}
	}
	rest := t.follow(events.ToolsRaw, from, count(above))
	if len(rest) != above {
		t.Fatalf("following from %v delivered %d messages, want %d", from, len(rest), above)
	}
	for _, m := range rest {
		if m.Offset <= from[m.Partition] {
			t.Errorf("following from %v delivered offset %d of partition %d", from, m.Offset, m.Partition)
		}
	}
}

// testFollowLive follows an empty topic while messages are published to it.
func testFollowLive(t *busTest) {
	for round := range 3 {
		key := fmt.Sprintf("t/%d", round)
		var publisher errgroup.Group
		publisher.Go(func() error { return t.bus.Publish(t.ctx, numbered(events.ToolsEmbedded, key, 1)...) })
		got := t.follow(events.ToolsEmbedded, nil, count(round+1))
		if err := publisher.Wait(); err != nil {
			t.Fatalf("publish: %v", err)
		}
		t.wantNumbered(key, t.byKey(got)[key], 1)
	}
}

func testEnd(t *busTest) {
	ends := t.end(events.FeedbackTopic)
	if len(ends) == 0 {
		t.Fatal("a topic has no partitions")
	}
	for p, end := range ends {
		if end != 0 {
			t.Errorf("empty partition %d ends at %d, want 0", p, end)
		}
	}
	for k := range 40 {
		t.publish(numbered(events.FeedbackTopic, fmt.Sprintf("t/%d", k), 1)...)
	}
	want := map[int]uint64{}
	for _, m := range t.follow(events.FeedbackTopic, nil, count(40)) {
		want[m.Partition] = max(want[m.Partition], m.Offset)
	}
	for range 2 {
		for p, end := range t.end(events.FeedbackTopic) {
			if end != want[p] {
				t.Errorf("partition %d ends at %d, want %d", p, end, want[p])
			}
		}
		t.reopen()
	}
}

func (t *busTest) end(topic events.Topic) map[int]uint64 {
	t.Helper()
	ends, err := t.bus.End(t.ctx, topic)
	if err != nil {
		t.Fatalf("end: %v", err)
	}
	return ends
}

func testBytes(t *busTest) {
	msgs := []stream.Message{
		{Key: "t/plain", Value: []byte("x"), Headers: map[string]string{"traceparent": "00-1-2-01", "revision": "17"}},
		{Key: "t/ dots.and*stars>and spaces\t", Value: nil},
		{Key: "t/ключ/工具/🔧", Value: []byte{0, 1, 2, 255}, Headers: map[string]string{"x": "100% ü\r\nInjected: 1", "y": " edges ", "z": ""}},
		{Key: "t/\x1fprovider", Value: []byte("\r\n.\r\n")},
		{Key: "t/\x00\xff\xfe", Value: []byte("PUB x 0\r\n")},
		{Key: "", Value: []byte("no key")},
	}
	for i := range msgs {
		msgs[i].Topic = events.ToolsRaw
	}
	t.publish(msgs...)
	t.reopen()
	got := map[string]stream.Message{}
	for _, m := range t.follow(events.ToolsRaw, nil, count(len(msgs))) {
		got[m.Key] = m
	}
	for _, want := range msgs {
		m, ok := got[want.Key]
		if !ok {
			t.Errorf("key %q did not come back", want.Key)
			continue
		}
		if !bytes.Equal(m.Value, want.Value) {
			t.Errorf("key %q: value %q, want %q", want.Key, m.Value, want.Value)
		}
		if !maps.Equal(m.Headers, want.Headers) {
			t.Errorf("key %q: headers %q, want %q", want.Key, m.Headers, want.Headers)
		}
		if m.Topic != want.Topic || m.Time.IsZero() {
			t.Errorf("key %q: topic %q, time %v", want.Key, m.Topic, m.Time)
		}
	}
}

func testLarge(t *busTest) {
	big := bytes.Repeat([]byte("0123456789abcdef"), t.adapter.MaxValue/16)
	t.publish(
		stream.Message{Topic: events.ToolsRaw, Key: "t/small", Value: []byte("s")},
		stream.Message{Topic: events.ToolsRaw, Key: "t/big", Value: big},
	)
	for _, m := range t.follow(events.ToolsRaw, nil, count(2)) {
		if m.Key == "t/big" && !bytes.Equal(m.Value, big) {
			t.Errorf("a value of %d bytes came back with %d", len(big), len(m.Value))
		}
	}
	if t.adapter.TooLarge == 0 {
		return
	}
	err := t.bus.Publish(t.ctx, stream.Message{Topic: events.ToolsRaw, Key: "t/huge", Value: make([]byte, t.adapter.TooLarge)})
	if stream.Reason(err) != stream.ReasonTooLarge {
		t.Errorf("a value of %d bytes: %v, want a permanent %q", t.adapter.TooLarge, err, stream.ReasonTooLarge)
	}
}

func testCancel(t *busTest) {
	ended, cancel := context.WithCancel(t.ctx)
	cancel()
	if err := t.bus.Publish(ended, numbered(events.Searches, "t/a", 1)...); !errors.Is(err, context.Canceled) {
		t.Errorf("publish with an ended context: %v", err)
	}
	noRead := func(context.Context, []stream.Message) error { return errEnough }
	if err := t.bus.Follow(ended, events.Searches, nil, noRead); err != nil {
		t.Errorf("follow with an ended context: %v", err)
	}

	// A fetch that waits for a message ends with its context, and Consume too.
	ctx, cancel := context.WithCancel(t.ctx)
	fetching := make(chan struct{})
	var got error
	var g errgroup.Group
	g.Go(func() error {
		return t.bus.Consume(ctx, events.FeedbackTopic, "g", func(ctx context.Context, p stream.Partition) error {
			select {
			case fetching <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			_, got = p.Fetch(ctx, 1)
			return nil
		})
	})
	<-fetching
	cancel()
	if err := g.Wait(); err != nil {
		t.Errorf("consume after its context ended: %v", err)
	}
	if got == nil {
		t.Error("a fetch with nothing to read returned without an error")
	}
}

func testHandlerError(t *busTest) {
	broken := errors.New("broken")
	t.publish(numbered(events.Searches, "t/a", 3)...)
	err := t.bus.Consume(t.ctx, events.Searches, "g", func(ctx context.Context, p stream.Partition) error {
		if _, err := p.Fetch(ctx, 1); err != nil {
			return nil // another partition's handler failed first
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("consume returned %v, want the handler's error", err)
	}
	err = t.bus.Follow(t.ctx, events.Searches, nil, func(context.Context, []stream.Message) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("follow returned %v, want the handler's error", err)
	}
	t.wantNumbered("t/a", t.byKey(t.consume(events.Searches, "g", 3, 3, true))["t/a"], 3)
}

func testRestart(t *busTest) {
	var want []string
	for round := range 4 {
		for i := range 40 {
			want = append(want, fmt.Sprintf("%d.%d", round, i))
			t.publish(stream.Message{Topic: events.Searches, Key: "t/a", Value: []byte(want[len(want)-1])})
		}
		t.reopen()
		got := t.byKey(t.follow(events.Searches, nil, count(len(want))))["t/a"]
		if !slices.Equal(got, want) {
			t.Fatalf("after restart %d: %d values, want %d in order", round, len(got), len(want))
		}
	}
}
