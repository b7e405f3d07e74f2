package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// ledger keeps what handlers have done with numbered messages, by key.
type ledger struct {
	mu      sync.Mutex
	keys    map[string][]int // in the order in which they were handled
	first   int              // handled for the first time
	changed chan struct{}    // closed and replaced with every change
}

func newLedger() *ledger { return &ledger{keys: map[string][]int{}, changed: make(chan struct{})} }

func (l *ledger) handle(msgs ...stream.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range msgs {
		n, err := strconv.Atoi(string(m.Value))
		if err != nil {
			panic(err)
		}
		if !slices.Contains(l.keys[m.Key], n) {
			l.first++
		}
		l.keys[m.Key] = append(l.keys[m.Key], n)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits until n different messages were handled.
func (l *ledger) await(ctx context.Context, n int) error {
	for {
		l.mu.Lock()
		first, changed := l.first, l.changed
		l.mu.Unlock()
		if first >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d messages were handled: %w", first, n, ctx.Err())
		}
	}
}

// check fails if a message of a key was handled for the first time before the
// one that was published before it, or never; once also if one was repeated.
func (l *ledger) check(t *testing.T, keys, each int, once bool) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(l.keys)) {
		next := 0
		for _, n := range l.keys[key] {
			switch {
			case n == next:
				next++
			case n > next:
				t.Fatalf("key %s: %d was handled before %d", key, n, next)
			case once:
				t.Fatalf("key %s: %d was handled twice: %v", key, n, l.keys[key])
			}
		}
		if next != each {
			t.Fatalf("key %s: %d of %d messages were handled", key, next, each)
		}
	}
	if len(l.keys) != keys {
		t.Fatalf("messages of %d of %d keys were handled", len(l.keys), keys)
	}
}

// runMember consumes in a bus of its own until stop is called.
func runMember(t *testing.T, cfg Config, handle func(context.Context, stream.Partition) error) (stop func()) {
	b := open(t, cfg)
	leave := check.Run(t, func(ctx context.Context) error { return b.Consume(ctx, events.ToolsRaw, "g", handle) })
	return sync.OnceFunc(func() {
		leave()
		closeBus(t, b)
	})
}

// work handles batch by batch, as the consume loop does: what was begun is
// finished and committed after the partition is lost.
func work(l *ledger, during func(context.Context)) func(context.Context, stream.Partition) error {
	return func(ctx context.Context, p stream.Partition) error {
		for ctx.Err() == nil {
			msgs, err := p.Fetch(ctx, 7)
			if err != nil {
				continue
			}
			half := len(msgs) / 2
			l.handle(msgs[:half]...)
			during(ctx)
			l.handle(msgs[half:]...)
			if err := p.Commit(context.WithoutCancel(ctx), msgs[len(msgs)-1].Offset); err != nil && ctx.Err() == nil {
				<-ctx.Done() // the coordinator knows it first
			}
		}
		return nil
	}
}

func nop(context.Context) {}

// A second member joins while the first one is in the middle of a batch of each
// partition. The first one finishes them; nothing is read twice, left out or
// overtaken.
func TestRebalanceInTheMiddleOfABatch(t *testing.T) {
	cfg := fresh(t, 2)
	create(t, cfg)
	b := open(t, cfg)
	defer closeBus(t, b)
	const keys, each = 12, 30
	for i := range each {
		for k := range keys {
			check.OK(t, b.Publish(within(t), numbered(events.ToolsRaw, fmt.Sprint(k), i, 1)...))
		}
	}
	l := newLedger()
	begun := make(chan struct{})
	var batches atomic.Int32
	defer runMember(t, cfg, work(l, func(ctx context.Context) {
		if batches.Add(1) <= 2 {
			begun <- struct{}{}
			<-ctx.Done() // the rebalance comes now
		}
	}))()
	for range 2 {
		<-begun
	}
	joined := make(chan struct{})
	var once sync.Once
	defer runMember(t, cfg, work(l, func(context.Context) { once.Do(func() { close(joined) }) }))()
	<-joined
	check.OK(t, l.await(within(t), keys*each))
	l.check(t, keys, each, true)
}

// Members join and leave while messages flow.
func TestMembersComeAndGo(t *testing.T) {
	cfg := fresh(t, 6)
	create(t, cfg)
	b := open(t, cfg)
	defer closeBus(t, b)
	const keys, each, rounds = 24, 150, 5
	var publishing errgroup.Group
	steps := make(chan struct{}) // a part of the messages each
	publishing.Go(func() error {
		for i := range each {
			if i%(each/rounds) == 0 {
				<-steps
			}
			for k := range keys {
				if err := b.Publish(within(t), numbered(events.ToolsRaw, fmt.Sprint(k), i, 1)...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	l := newLedger()
	members := []func(){runMember(t, cfg, work(l, nop))}
	for round := range rounds {
		steps <- struct{}{}
		members = append(members, runMember(t, cfg, work(l, nop)))
		if round%2 == 1 {
			members[0]()
			members = members[1:]
		}
		check.OK(t, l.await(within(t), keys*each/rounds*round+keys))
	}
	check.OK(t, publishing.Wait())
	check.OK(t, l.await(within(t), keys*each))
	for _, stop := range members {
		stop()
	}
	l.check(t, keys, each, false)
}
