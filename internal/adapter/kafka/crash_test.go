package kafka

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// The broker is killed while publishers and a consumer work, and started again.
// What was acknowledged is there, in order, and everybody goes on.
func TestBrokerIsKilledWhilePublishing(t *testing.T) {
	cfg := fresh(t, 3)
	cfg.Patience = 5 * time.Minute // a guard: a busy machine starts a broker slowly
	create(t, cfg)
	b := open(t, cfg)
	defer closeBus(t, b)
	const keys, rounds, more = 6, 2, 150
	l := newLedger()
	stop := runMember(t, cfg, work(l, nop))
	defer stop()

	var acknowledged atomic.Int64
	var target atomic.Int64
	target.Store(more)
	grown := make(chan struct{}, 1)
	acks := make([]int, keys)
	last := atomic.Bool{}
	publishing, failed := errgroup.WithContext(t.Context())
	wait := func() {
		t.Helper()
		select {
		case <-grown:
		case <-failed.Done():
			last.Store(true)
			t.Fatal(publishing.Wait())
		}
	}
	for k := range keys {
		publishing.Go(func() error {
			for !last.Load() {
				m := numbered(events.ToolsRaw, fmt.Sprint(k), acks[k], 1)[0]
				if err := b.Publish(t.Context(), m); err != nil {
					return err
				}
				acks[k]++
				if acknowledged.Add(1) == target.Load() {
					grown <- struct{}{}
				}
			}
			return nil
		})
	}
	for range rounds {
		wait()
		broker.server.Kill()
		target.Store(acknowledged.Load() + more)
		must(t, broker.server.Restart(within(t)))
	}
	wait()
	last.Store(true)
	must(t, publishing.Wait())

	stored := newLedger()
	ends, err := b.End(within(t), events.ToolsRaw)
	must(t, err)
	err = b.Follow(within(t), events.ToolsRaw, nil, func(_ context.Context, msgs []stream.Message) error {
		stored.handle(msgs...)
		at := msgs[len(msgs)-1]
		if at.Offset >= ends[at.Partition] {
			delete(ends, at.Partition)
		}
		if len(ends) == 0 {
			return errEnough
		}
		return nil
	})
	if err != errEnough {
		t.Fatal(err)
	}
	total := 0
	for k := range keys {
		total += acks[k]
	}
	must(t, l.await(within(t), total))
	stop()
	for name, got := range map[string]*ledger{"stored": stored, "consumed": l} {
		t.Run(name, func(t *testing.T) {
			for k := range keys {
				one := newLedger()
				one.keys[fmt.Sprint(k)] = got.keys[fmt.Sprint(k)]
				one.check(t, 1, acks[k], false)
			}
		})
	}
}
