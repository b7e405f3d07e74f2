package status

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAHealthCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, failing := 0, 0
		p := &HealthCheck{Name: "Kafka", Ask: func(ctx context.Context) error {
			asked++
			if failing > 0 {
				failing--
				return errors.New("away")
			}
			return ctx.Err()
		}}
		want := func(what string, ready bool, asks int) {
			t.Helper()
			asked = 0
			err := p.Ready()
			if (err == nil) != ready || asked != asks || err != nil && !strings.Contains(err.Error(), "Kafka does not answer: away") {
				t.Errorf("%s: %v after %d questions, want ready %v after %d", what, err, asked, ready, asks)
			}
		}
		want("at first", true, 1)
		failing = 3
		want("soon after", true, 0)
		time.Sleep(healthEvery)
		want("after a stumble", true, 4)
		failing = 1 << 30
		time.Sleep(healthEvery)
		want("away", false, 7)
		want("away, soon after", false, 0)
		failing = 0
		time.Sleep(healthEvery)
		want("back", true, 1)

		time.Sleep(healthEvery)
		asked = 0
		var many sync.WaitGroup
		for range 20 {
			many.Go(func() {
				if err := p.Ready(); err != nil {
					t.Error(err)
				}
			})
		}
		many.Wait()
		if asked != 1 {
			t.Errorf("20 who ask at once ask %d times", asked)
		}
	})
}

// What hangs is given up.
func TestAHealthCheckGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &HealthCheck{Name: "Kafka", Ask: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		start := time.Now()
		if err := p.Ready(); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > healthTimeout+healthPause {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}
