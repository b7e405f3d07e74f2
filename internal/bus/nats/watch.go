package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// requestTimeout is how long a server may take to answer.
const requestTimeout = 10 * time.Second

// checkEvery is how often a watch asks whether its bucket is still there.
const checkEvery = 30 * time.Second

// errWatchEnded is the error of a watch that ended by itself.
var errWatchEnded = errors.New("the watch ended")

// Watch calls fn with the newest value of every key that begins with prefix, then with each
// change, a deleted key with a nil Value, until ctx ends (nil) or fn fails (its error). It
// waits for a connection, and returns an ErrDisconnected when that is lost: watching again then
// misses nothing, because it begins with the newest values.
func (k *KV) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	return k.Follow(ctx, prefix, fn, func() {})
}

// Follow is Watch, and calls current once fn has been called for every key that
// was there.
func (k *KV) Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error {
	var own error // of fn
	connected, stop, err := whileConnected(ctx, k.conn)
	if err == nil {
		defer stop()
		err = k.watch(connected, prefix, func(e jetstream.KeyValueEntry) error {
			if e == nil {
				current()
				return nil
			}
			own = fn(entry(e))
			return own
		})
	}
	switch {
	case own != nil:
		return own
	case ctx.Err() != nil:
		return nil
	}
	return k.failed("watch", prefix, err)
}

// watch calls fn with the keys that are there and then with changes, with nil between
// the two, until ctx ends or fn fails. Its error is never nil.
func (k *KV) watch(ctx context.Context, prefix string, fn func(jetstream.KeyValueEntry) error, opts ...jetstream.WatchOpt) error {
	running, end := context.WithCancel(ctx)
	defer end()
	// An unanswered request would block the start forever.
	slow := time.AfterFunc(requestTimeout, end)
	kv, err := k.bucket(running)
	var made time.Time
	if err == nil {
		made, err = k.made(running)
	}
	var w jetstream.KeyWatcher
	if err == nil {
		// The narrowest pattern of the keys.
		w, err = kv.Watch(running, prefix[:strings.LastIndexByte(prefix, '.')+1]+">", opts...)
	}
	if !slow.Stop() && ctx.Err() == nil {
		err = fmt.Errorf("no answer in %v", requestTimeout)
	}
	if w != nil {
		defer stopWatch(w)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	ticker := time.NewTicker(k.check)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
			// A watch of a bucket that was removed or created again would stay silent forever.
			asking, cancel := context.WithTimeout(ctx, requestTimeout)
			now, err := k.made(asking)
			cancel()
			if err == nil && !now.Equal(made) {
				err = errWatchEnded
			}
			if err != nil && ctx.Err() == nil {
				return err
			}
		case e, open := <-w.Updates():
			if !open && ctx.Err() == nil {
				return errWatchEnded
			}
			if !open || e != nil && !strings.HasPrefix(e.Key(), prefix) {
				continue
			}
			if err := fn(e); err != nil {
				return err
			}
		}
	}
}

// made returns the creation time of the bucket.
func (k *KV) made(ctx context.Context) (time.Time, error) {
	s, err := k.js.Stream(ctx, kvStream+k.cfg.Bucket)
	if err != nil {
		return time.Time{}, err
	}
	return s.CachedInfo().Created, nil
}

// stopWatch ends a watch and drains its channel: the watch would wait for a reader forever.
func stopWatch(w jetstream.KeyWatcher) {
	_ = w.Stop() // it has ended by itself, with the connection
	go func() {
		for range w.Updates() {
		}
	}()
}
