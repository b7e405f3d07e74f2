package jetstream

import (
	"context"
	"errors"
	"testing"
	"time"
)

// However long a process is stopped, the store has the rest of the ticks to answer in.
func TestPatienceIsOfTimeThatTheProcessRuns(t *testing.T) {
	ticks := make(chan time.Time)
	ctx, cancel := within(t.Context(), ticks, 3)
	defer cancel()
	now := time.Unix(0, 0)
	for _, pause := range []time.Duration{time.Second, time.Hour} {
		now = now.Add(pause)
		ticks <- now
		if ctx.Err() != nil {
			t.Fatalf("it ended after %v", now)
		}
	}
	ticks <- now.Add(time.Second)
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		t.Errorf("it ended with %v", context.Cause(ctx))
	}
	parent, end := context.WithCancel(t.Context())
	ctx, cancel = within(parent, ticks, 3)
	defer cancel()
	end()
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), context.Canceled) {
		t.Errorf("it ended with %v", context.Cause(ctx))
	}
}
