package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
)

// listTimeout bounds a list of keys or versions where the context does not.
const listTimeout = 10 * time.Second

// beginTimeout bounds the begin of a watch.
const beginTimeout = 10 * time.Second

// checkEvery is how often a watch asks whether its bucket is still there.
const checkEvery = 30 * time.Second

// errWatchEnded is the error of a watch that ended by itself.
var errWatchEnded = errors.New("the watch ended")

// Watch calls fn with the newest value of every key that begins with prefix,
// then with each change, a deleted key with a nil Value, until ctx ends (nil)
// or fn fails (its error). It waits for a connection, and returns an
// ErrDisconnected when that is lost: to watch again then misses nothing, as it
// begins with what is newest.
func (k *KV) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	return k.Follow(ctx, prefix, fn, func() {})
}

// Follow is Watch, and calls current once fn has been called for every key that
// was there.
func (k *KV) Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error {
	connected, stop, err := whileConnected(ctx, k.conn)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return k.failed("watch", prefix, err)
	}
	defer stop()
	err = k.each(connected, filter(prefix), func(e jetstream.KeyValueEntry) error {
		switch {
		case e == nil:
			current()
		case strings.HasPrefix(e.Key(), prefix):
			return fn(entry(e))
		}
		return nil
	})
	var own callbackError
	switch {
	case errors.As(err, &own):
		return own.error
	case ctx.Err() != nil:
		return nil
	}
	return k.failed("watch", prefix, err)
}

// callbackError is what a callback returned: it ends a watch as it is.
type callbackError struct{ error }

func (e callbackError) Unwrap() error { return e.error }

// filter is the narrowest pattern of keys that begin with prefix.
func filter(prefix string) string {
	whole := strings.LastIndexByte(prefix, '.') + 1
	return prefix[:whole] + ">"
}

// each calls fn with what is there and what comes, nil between the two, until
// ctx ends or fn fails (a callbackError).
func (k *KV) each(ctx context.Context, pattern string, fn func(jetstream.KeyValueEntry) error, opts ...jetstream.WatchOpt) error {
	w, err := k.begin(ctx, pattern, opts...)
	if err != nil {
		return err
	}
	defer end(w)
	ticker := time.NewTicker(k.check)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
			if err := k.still(ctx, w.made); err != nil && ctx.Err() == nil {
				return err
			}
		case e, open := <-w.Updates():
			if !open {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return errWatchEnded
			}
			if err := fn(e); err != nil {
				return callbackError{err}
			}
		}
	}
}

// begin begins a watch, in bounded time: a request that the server does not
// answer would hold it up for ever.
func (k *KV) begin(ctx context.Context, pattern string, opts ...jetstream.WatchOpt) (*begun, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(beginTimeout, func() { cancel(fmt.Errorf("no answer in %v", beginTimeout)) })
	defer timer.Stop()
	w, err := k.watcher(ctx, pattern, opts...)
	if err == nil {
		w.cancel = cancel
		return w, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	cancel(nil)
	return nil, err
}

// begun is a watch with the context that it runs on.
type begun struct {
	jetstream.KeyWatcher
	made   time.Time // the bucket
	cancel context.CancelCauseFunc
}

func (k *KV) watcher(ctx context.Context, pattern string, opts ...jetstream.WatchOpt) (*begun, error) {
	kv, err := k.bucket(ctx)
	if err != nil {
		return nil, err
	}
	made, err := k.made(ctx)
	if err != nil {
		return nil, err
	}
	w, err := kv.Watch(ctx, pattern, opts...)
	return &begun{KeyWatcher: w, made: made}, err
}

// made returns when the bucket was made.
func (k *KV) made(ctx context.Context) (time.Time, error) {
	s, err := k.js.Stream(ctx, "KV_"+k.cfg.Bucket)
	if err != nil {
		return time.Time{}, err
	}
	return s.CachedInfo().Created, nil
}

// still holds that the bucket is there and the one that is watched. A watch of
// one that is gone, or was made anew meanwhile, would say nothing for ever.
func (k *KV) still(ctx context.Context, made time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	now, err := k.made(ctx)
	if err != nil {
		return err
	}
	if !now.Equal(made) {
		return errWatchEnded
	}
	return nil
}

// end ends a watch, and reads what it still has to say: it would wait for a
// reader for ever.
func end(w *begun) {
	_ = w.Stop() // it has ended by itself, with the connection
	go func() {
		for range w.Updates() {
		}
	}()
}

// Stop ends the watch.
func (b *begun) Stop() error {
	err := b.KeyWatcher.Stop()
	b.cancel(nil)
	return err
}

// errListed ends a list.
var errListed = errors.New("listed")

// list calls fn with everything that is there: all of it, or the error says
// that it was not.
func (k *KV) list(ctx context.Context, pattern string, fn func(jetstream.KeyValueEntry), opts ...jetstream.WatchOpt) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if !k.conn.IsConnected() {
		return disconnected(k.conn)
	}
	connected, stop, err := whileConnected(ctx, k.conn)
	if err != nil {
		return err
	}
	defer stop()
	err = k.each(connected, pattern, func(e jetstream.KeyValueEntry) error {
		if e == nil {
			return errListed
		}
		fn(e)
		return nil
	}, opts...)
	if errors.Is(err, errListed) {
		return nil
	}
	return err
}
