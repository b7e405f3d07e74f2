package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
)

// KV is a bucket of small values that everybody watches: versions of weights,
// settings. Keys consist of letters, digits and -/_=. characters.
type KV struct {
	bucket string
	kv     jetstream.KeyValue
}

// OpenKV opens a bucket, creating it if it is not there. It keeps the last
// history versions of each key, at most 64.
func OpenKV(ctx context.Context, nc *nats.Conn, bucket string, history uint8) (*KV, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("jetstream: bucket %s: %w", bucket, err)
	}
	kv, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket, History: history, Storage: jetstream.FileStorage})
	if err != nil {
		return nil, fmt.Errorf("jetstream: bucket %s: %w", bucket, err)
	}
	if err := readable(ctx, js, bucket); err != nil {
		return nil, stream.Permanent(stream.ReasonLost, fmt.Errorf("jetstream: bucket %s: %w", bucket, err))
	}
	return &KV{bucket: bucket, kv: kv}, nil
}

// readable reads the newest value of every key. One that is damaged would hold
// up whoever watches the bucket, for ever and without a word.
func readable(ctx context.Context, js jetstream.JetStream, bucket string) error {
	s, err := js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter("$KV."+bucket+".>"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if _, err := s.GetLastMsgForSubject(ctx, subject); err != nil {
			return fmt.Errorf("the value of %s can not be read: %w", strings.TrimPrefix(subject, "$KV."+bucket+"."), err)
		}
	}
	return nil
}

// Put stores a value whatever was there, and returns its revision.
func (k *KV) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	revision, err := k.kv.Put(ctx, key, value)
	return revision, k.failed("put", key, err)
}

// Create stores the first value of a key, or fails with stream.ErrConflict.
func (k *KV) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	revision, err := k.kv.Create(ctx, key, value)
	return revision, k.failed("create", key, err)
}

// Update replaces the value that has the given revision, or fails with
// stream.ErrConflict.
func (k *KV) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	revision, err := k.kv.Update(ctx, key, value, revision)
	return revision, k.failed("update", key, err)
}

// Get returns the newest value, or stream.ErrNotFound.
func (k *KV) Get(ctx context.Context, key string) (stream.Entry, error) {
	e, err := k.kv.Get(ctx, key)
	if err != nil {
		return stream.Entry{}, k.failed("get", key, err)
	}
	return entry(e), nil
}

// History returns the kept versions of a key, oldest first, or stream.ErrNotFound.
func (k *KV) History(ctx context.Context, key string) ([]stream.Entry, error) {
	all, err := k.kv.History(ctx, key)
	if err != nil {
		return nil, k.failed("history", key, err)
	}
	var out []stream.Entry
	for _, e := range all {
		if e.Operation() == jetstream.KeyValuePut {
			out = append(out, entry(e))
		}
	}
	return out, nil
}

// Delete removes a key; one that is not there is no error.
func (k *KV) Delete(ctx context.Context, key string) error {
	return k.failed("delete", key, k.kv.Delete(ctx, key))
}

// Keys returns the keys that begin with prefix, sorted.
func (k *KV) Keys(ctx context.Context, prefix string) ([]string, error) {
	all, err := k.kv.Keys(ctx)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, nil
	}
	if err != nil {
		return nil, k.failed("keys", prefix, err)
	}
	all = slices.DeleteFunc(all, func(key string) bool { return !strings.HasPrefix(key, prefix) })
	slices.Sort(all)
	return all, nil
}

// Watch calls fn with the newest value of every key that begins with prefix,
// then with each change, a deleted key with a nil Value, until ctx ends (nil)
// or fn fails (its error).
func (k *KV) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	w, err := k.kv.WatchAll(ctx)
	if err != nil {
		return k.failed("watch", prefix, err)
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-w.Updates():
			if !open {
				if ctx.Err() != nil {
					return nil
				}
				return k.failed("watch", prefix, errors.New("the watch ended"))
			}
			if e == nil || !strings.HasPrefix(e.Key(), prefix) {
				continue // nil marks the end of the values that were there
			}
			if err := fn(entry(e)); err != nil {
				return err
			}
		}
	}
}

func entry(e jetstream.KeyValueEntry) stream.Entry {
	out := stream.Entry{Key: e.Key(), Revision: e.Revision()}
	if e.Operation() == jetstream.KeyValuePut {
		out.Value = append([]byte{}, e.Value()...)
	}
	return out
}

func (k *KV) failed(op, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		err = stream.ErrNotFound
	case errors.Is(err, jetstream.ErrKeyExists):
		err = stream.ErrConflict
	}
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		err = stream.ErrConflict
	}
	return fmt.Errorf("jetstream: %s %s in bucket %s: %w", op, key, k.bucket, err)
}
