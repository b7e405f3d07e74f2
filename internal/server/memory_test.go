package server

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
)

func TestAllowance(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, garbageMost},
		{10 << 20, garbageMost},
		{64 << 20, 150},
		{96 << 20, 100},
		{200 << 20, 40},
		{1 << 40, garbageShare},
	} {
		if got := allowance(c.live); got != c.want {
			t.Errorf("%d bytes live: %d %%, want %d", c.live, got, c.want)
		}
	}
}

// The setting is the process's: it is fitted while it is paced, left alone
// where the operator has set it, and as it was afterwards.
func TestPaceMemory(t *testing.T) {
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	before := percent()
	for _, c := range []struct {
		gogc  string
		paced bool
	}{{"", true}, {"150", false}} {
		t.Setenv("GOGC", c.gogc)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			go PaceMemory(ctx)
			synctest.Wait()
			if got := percent(); (got != before) != c.paced {
				t.Errorf("GOGC=%q: %d %%, %d %% before", c.gogc, got, before)
			}
			cancel()
			synctest.Wait()
			if got := percent(); got != before {
				t.Errorf("GOGC=%q: %d %% is left, it was %d %%", c.gogc, got, before)
			}
		})
	}
}
