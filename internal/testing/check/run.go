package check

import (
	"context"
	"sync"
	"testing"
)

// Run runs fn until stop is called or the test ends, and fails the test if fn returns
// an error.
func Run(t testing.TB, fn func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}
