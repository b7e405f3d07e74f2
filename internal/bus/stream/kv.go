package stream

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// ErrNotFound is the error for a key that a bucket of small values does not
// hold.
var ErrNotFound = errors.New("key not found")

// ErrConflict is the error for a write that came second.
var ErrConflict = errors.New("key was changed by another writer")

// Entry is one version of a small value that is distributed to all its watchers: weights,
// settings.
type Entry struct {
	Key      string
	Value    []byte // nil if the key was deleted
	Revision uint64 // rises with each write to the bucket
}

// Watcher follows keys of a store. fn is called in order, first for every key that is
// there, with an empty value for a key that was deleted. Watch returns when ctx ends (nil)
// or the store is lost.
type Watcher interface {
	Watch(ctx context.Context, prefix string, fn func(Entry) error) error
}

// WatchAgain watches keys until ctx ends, and again whenever the store is lost. It calls note with
// each loss, and with nil once entries come.
func WatchAgain(ctx context.Context, store Watcher, prefix string, fn func(Entry) error, note func(error)) {
	FollowAgain(ctx, store.Watch, prefix, fn, note)
}

// FollowAgain is WatchAgain for any function that watches.
func FollowAgain(ctx context.Context, watch func(ctx context.Context, prefix string, fn func(Entry) error) error, prefix string, fn func(Entry) error, note func(error)) {
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	once := func() error {
		err := watch(ctx, prefix, func(e Entry) error {
			note(nil)
			pace.Reset()
			return fn(e)
		})
		if err == nil && ctx.Err() == nil {
			err = errors.New("the watch ended")
		}
		return OrDone(ctx, err)
	}
	_ = backoff.RetryNotify(once, backoff.WithContext(pace, ctx), func(err error, _ time.Duration) { note(err) })
}
