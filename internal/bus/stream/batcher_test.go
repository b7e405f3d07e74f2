package stream_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// Calls that meet a closing bus are told whether their items are stored, and calls that
// wait for a send share the next one.
func TestABatcherThatEndsSettlesEveryWrite(t *testing.T) {
	for range 20 {
		quit := make(chan struct{})
		var stored, told, sends atomic.Int64
		enough := make(chan struct{})
		b := stream.NewBatcher(100, 1000, quit, func(group []*stream.Write[int]) {
			sends.Add(1)
			for _, w := range group {
				if stored.Add(int64(len(w.Items))) == 2000 {
					close(enough)
				}
				w.Settle(nil)
			}
		})
		var running, callers sync.WaitGroup
		running.Go(b.Run)
		for range 16 {
			callers.Go(func() {
				for {
					w := &stream.Write[int]{}
					w.Add(1, 1)
					err := b.Put(t.Context(), w)
					if err == nil {
						err = b.Wait(t.Context(), w)
					}
					if errors.Is(err, stream.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					told.Add(1)
				}
			})
		}
		<-enough
		close(quit)
		callers.Wait()
		running.Wait()
		if stored.Load() != told.Load() || sends.Load() > stored.Load() {
			t.Errorf("%d items are stored in %d sends, callers were told of %d", stored.Load(), sends.Load(), told.Load())
		}
	}
}

func TestABatcherForgetsNoCallerThatLeaves(t *testing.T) {
	quit := make(chan struct{})
	b := stream.NewBatcher(1, 1, quit, func(group []*stream.Write[int]) { group[0].Settle(group[0].GivenUp()) })
	ctx, leave := context.WithCancel(t.Context())
	w := &stream.Write[int]{}
	w.Add(1, 1)
	check.OK(t, b.Put(ctx, w))
	leave()
	if err := b.Wait(ctx, w); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller was told %v", err)
	}
	close(quit)
	b.Run()
	if err := b.Put(t.Context(), w); !errors.Is(err, stream.ErrClosed) {
		t.Errorf("a closed batcher says %v", err)
	}
}
