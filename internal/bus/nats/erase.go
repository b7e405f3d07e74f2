package nats

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Erase deletes the matching keys and returns their number. Watches of the bucket see the
// deletes.
func (k *KV) Erase(ctx context.Context, match func(key string) bool) (n int, err error) {
	kv, err := k.bucket(ctx)
	if err != nil {
		return 0, k.failed("erase", "", err)
	}
	all, err := k.all(ctx, match)
	for _, e := range all {
		if err == nil && e.Operation() == jetstream.KeyValuePut {
			n++
			err = kv.Purge(ctx, e.Key())
		}
	}
	return n, k.failed("erase", "", err)
}

// ErasedKey is a key of buckets with erasures. Its record becomes the newest of the bucket's
// stream, so that the stream need not keep an erased record as its last.
const ErasedKey = "erased"

// ForgetErased removes the delete markers of the matching keys, because they hold the names of
// the keys.
func (k *KV) ForgetErased(ctx context.Context, match func(key string) bool) error {
	all, err := k.all(ctx, match)
	if err != nil || len(all) == 0 {
		return k.failed("erase", "", err)
	}
	st, err := k.js.Stream(ctx, kvStream+k.cfg.Bucket)
	for _, e := range all {
		if err == nil && e.Operation() != jetstream.KeyValuePut {
			err = st.Purge(ctx, jetstream.WithPurgeSubject("$KV."+k.cfg.Bucket+"."+e.Key()))
		}
	}
	if err == nil {
		_, err = k.Put(ctx, ErasedKey, nil)
	}
	return k.failed("erase", "", err)
}

// all returns the newest entry of every key that matches, without its value, deleted ones
// included.
func (k *KV) all(ctx context.Context, match func(key string) bool) (found []jetstream.KeyValueEntry, err error) {
	if !k.conn.IsConnected() {
		return nil, disconnected(k.conn)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err = k.watch(ctx, "", func(e jetstream.KeyValueEntry) error {
		if e == nil {
			return errListed
		}
		if match(e.Key()) {
			found = append(found, e)
		}
		return nil
	}, jetstream.MetaOnly())
	if errors.Is(err, errListed) {
		err = nil
	}
	return found, err
}
