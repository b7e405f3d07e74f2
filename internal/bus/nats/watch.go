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

// requestTimeout bounds what a server may take to answer.
const requestTimeout = 10 * time.Second

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
	// A request that the server does not answer would hold the begin up for ever.
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
			// A watch of a bucket that is gone, or was made again, would say nothing for ever.
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

// made returns when the bucket was made.
func (k *KV) made(ctx context.Context) (time.Time, error) {
	s, err := k.js.Stream(ctx, kvStream+k.cfg.Bucket)
	if err != nil {
		return time.Time{}, err
	}
	return s.CachedInfo().Created, nil
}

// stopWatch ends a watch, and reads what it still has to say: it would wait for a
// reader for ever.
func stopWatch(w jetstream.KeyWatcher) {
	_ = w.Stop() // it has ended by itself, with the connection
	go func() {
		for range w.Updates() {
		}
	}()
}
