package kafka

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// A bus that was there before learns of the topics of index versions, they go with
// everything in them, and a forgotten group begins anew.
func TestTopicsOfIndexVersionsComeAndGo(t *testing.T) {
	cfg := fresh(t, 2)
	create(t, cfg)
	b, next := open(t, cfg), events.Embedded(2)
	defer closeBus(t, b)
	check.OK(t, b.Publish(within(t), stream.Message{Topic: events.ToolsEmbedded, Key: "t/a", Value: []byte("1")}))
	if err := b.Publish(within(t), stream.Message{Topic: next, Key: "t/a", Value: []byte("1")}); err == nil {
		t.Error("published on a topic that is not there")
	}
	check.OK(t, b.Create(within(t), next))
	check.OK(t, b.Create(within(t), next))
	check.OK(t, b.Publish(within(t), stream.Message{Topic: next, Key: "t/a", Value: []byte("1")}))
	if found, err := b.Versions(within(t)); err != nil || !slices.Equal(found, []int{2}) {
		t.Errorf("there are %v, %v", found, err)
	}

	read := func() (n int) {
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		err := b.Consume(ctx, next, "group", func(ctx context.Context, p stream.Partition) error {
			msgs, err := p.Fetch(ctx, 10)
			if err != nil {
				return err
			}
			n += len(msgs)
			defer cancel()
			return p.Commit(ctx, msgs[len(msgs)-1].Offset)
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return n
	}
	for range 2 {
		if n := read(); n != 1 {
			t.Errorf("read %d records from the beginning", n)
		}
		check.OK(t, b.Forget(within(t), next, "group"))
	}
	check.OK(t, b.Forget(within(t), next, "nobody"))

	for range 2 {
		check.OK(t, b.Remove(within(t), next))
		check.OK(t, b.Remove(within(t), events.ToolsEmbedded))
	}
	if found, err := b.Versions(within(t)); err != nil || len(found) > 0 {
		t.Errorf("after they were removed there are %v, %v", found, err)
	}
	if ends, err := b.End(within(t), events.ToolsEmbedded); err != nil || slices.Max([]uint64{ends[0], ends[1]}) > 0 {
		t.Errorf("the first one's ends at %v, %v", ends, err)
	}
}

func TestAnOperatorsTopicsAreLeftAlone(t *testing.T) {
	cfg := fresh(t, 1)
	create(t, cfg)
	cfg.Managed = true
	b := open(t, cfg)
	defer closeBus(t, b)
	if err := b.Create(within(t), events.Embedded(2)); err == nil {
		t.Error("made a topic that is an operator's to make")
	}
	check.OK(t, b.Publish(within(t), stream.Message{Topic: events.ToolsEmbedded, Key: "t/a", Value: []byte("1")}))
	check.OK(t, b.Remove(within(t), events.ToolsEmbedded))
	if ends, err := b.End(within(t), events.ToolsEmbedded); err != nil || ends[0] != 1 {
		t.Errorf("it ends at %v, %v", ends, err)
	}
}
